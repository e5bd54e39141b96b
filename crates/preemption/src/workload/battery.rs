//! The workloads on which policies are checked: ordinary ones, and the corners of what a scheduler may meet.

/// What each is called, and its spec.
pub(crate) const BATTERY: &[(&str, &str)] = &[
    ("ordinary", "builtin,jobs=30"),
    ("one job", "builtin,jobs=1"),
    ("one GPU", "builtin,nodes=1,node-gpus=1,jobs=5"),
    ("one node", "builtin,nodes=1,node-gpus=8,jobs=20"),
    ("many nodes", "builtin,nodes=40,jobs=60"),
    ("all at once", "builtin,jobs=60,arrivals=batch"),
    ("few jobs at a time", "builtin,jobs=20,load=0.3"),
    ("an overload", "builtin,jobs=60,load=4"),
    ("wide jobs", "builtin,jobs=30,edge=wide"),
    ("giants", "builtin,jobs=30,edge=giants"),
    ("wrong predictions", "builtin,jobs=30,prediction-error=0.5,understated=0.5"),
    ("failures", "builtin,jobs=20,mtbf=2"),
    ("a slow storage", "builtin,jobs=30,storage=0.1,cache=10"),
    // Policies that take raw numbers as scores meet huge and tiny ones.
    ("a check a day", "builtin,jobs=20,check=86400"),
    ("placed anywhere", "builtin,jobs=30,placement=most-free,spread-slowdown=2"),
];
