//! The workloads on which policies are checked: ordinary ones, and the corners of what a scheduler may meet.

/// What each is called, and its spec.
pub(crate) const BATTERY: &[(&str, &str)] = &[
    ("ordinary", "builtin,jobs=30"),
    ("one job", "builtin,jobs=1"),
    ("one core", "builtin,node-cores=1,jobs=4"),
    ("many nodes", "builtin,nodes=10,jobs=40"),
    ("small nodes", "builtin,nodes=8,node-cores=4,jobs=25"),
    ("a steady rate", "builtin,jobs=30,arrivals=poisson,load=2"),
    ("a burst", "builtin,jobs=100,edge=burst"),
    ("a giant", "builtin,jobs=20,edge=giant"),
    ("hopeless deadlines", "builtin,jobs=20,edge=hopeless"),
    ("refusals", "builtin,jobs=20,edge=hopeless,refuse=1"),
    ("wrong predictions", "builtin,jobs=20,prediction-error=0.5,inflated=0.5"),
    // Policies that take raw numbers as scores meet huge and tiny ones.
    ("a check a day", "builtin,jobs=10,check=86400"),
    ("long restarts", "builtin,jobs=10,restart=100000"),
];
