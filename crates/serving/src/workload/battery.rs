//! The workloads on which policies are checked: ordinary ones, and the corners of what a scheduler may meet.

/// What each is called, and its spec.
pub(crate) const BATTERY: &[(&str, &str)] = &[
    ("ordinary", "builtin,seconds=0.5"),
    ("one application", "builtin,applications=1,seconds=0.5"),
    ("many applications", "builtin,applications=20,seconds=0.5"),
    ("several accelerators", "builtin,accelerators=4,seconds=0.2"),
    ("little to do", "builtin,load=0.1,seconds=2"),
    ("an overload", "builtin,load=3,seconds=0.3"),
    ("tasks of one size", "builtin,spread=0,seconds=0.5"),
    ("bursts", "builtin,edge=burst,seconds=0.5"),
    ("giants", "builtin,edge=giants,seconds=0.5"),
    ("sizes that are not so", "builtin,edge=understated,seconds=0.5"),
    ("dynamic graphs", "builtin,law=dynamic,seconds=0.3"),
    ("compiled shapes", "builtin,shapes=4/16,seconds=0.5"),
    ("little memory", "builtin,memory=100,seconds=0.5"),
    ("short queues", "builtin,queue=4,load=2,seconds=0.5"),
    // Policies that take raw numbers as scores meet huge and tiny ones.
    ("an objective out of reach", "builtin,objective=1,timeout=1000,seconds=0.5"),
];
