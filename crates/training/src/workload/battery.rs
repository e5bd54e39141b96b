//! The workloads on which policies are checked: ordinary ones, and the corners of what a scheduler may meet.

/// What each is called, and its spec.
pub(crate) const BATTERY: &[(&str, &str)] = &[
    ("ordinary", "builtin,nodes=12,jobs=20"),
    ("one job", "builtin,nodes=4,jobs=1"),
    ("one node", "builtin,nodes=1,jobs=4"),
    ("many jobs", "builtin,nodes=20,jobs=100,rate=50,max=4"),
    ("large cluster", "builtin,nodes=200,jobs=10,rate=10,max=32"),
    ("one worker and one server each", "builtin,nodes=12,jobs=20,max=1"),
    ("bursts", "builtin,nodes=12,jobs=30,arrivals=bursty"),
    ("speeds by placement", "builtin,nodes=6,jobs=15,max=6,speed=analytic"),
    ("jobs that take longer than believed", "builtin,nodes=12,jobs=15,epoch-error=0.9,speed-error=0.5"),
    // Policies that take raw numbers as scores meet huge and tiny ones.
    ("millions of epochs", "builtin,nodes=6,jobs=8,epochs=1e8,slot=1e7"),
    ("slots of a millisecond", "builtin,nodes=6,jobs=8,epochs=1,slot=1e-3"),
];
