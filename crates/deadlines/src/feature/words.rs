//! What the `deadlines` scenario calls things in sentences for readers.

use sched_distill_core::level::{KindWords, LevelWords, Words, pairs};

/// Words for the kinds, levels and quantities of the `deadlines` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("start", "a waiting job may begin"),
            KindWords::new("resize", "a running job may get another size"),
        ],
        levels: vec![job(), class(), amount()],
        policies: pairs(&[
            ("fifo", "first come, first served, with the cores that users request"),
            ("edf", "the earliest deadline first, with the cores that users request"),
            ("least-slack", "the job with the least time to spare first, with the cores that users request"),
            ("edf-test", "the earliest deadline first, with the cores that users request, late jobs last"),
            ("qos", "the earliest deadline first, with as few cores as suffice, which change with the predictions"),
            ("hpa", "first come, first served, and more cores for who uses all it has"),
            ("vpa", "first come, first served, with a little more cores than earlier jobs used"),
        ]),
        edge_cases: pairs(&[
            ("burst", "all jobs arrive at once"),
            ("giant", "one giant job shares the cluster"),
            ("hopeless", "four in ten deadlines cannot be kept"),
            ("misdeclared", "half of the users declare twice their iterations"),
        ]),
        figures: pairs(&[("on_time", "share of jobs on time")]),
    }
}

fn job() -> LevelWords {
    let quantities = [
        ["is_none", "starting no job", "to start rather than to wait", "to wait rather than to start"],
        ["due", "time until its deadline", "with an earlier deadline", "with a later deadline"],
        ["slack", "time to spare at its largest size", "with less time to spare", "with more time to spare"],
        [
            "slack_as_requested",
            "time to spare as requested",
            "with less time to spare as requested",
            "with more time to spare as requested",
        ],
        [
            "slack_now",
            "time to spare if it begins now",
            "with less time to spare if it begins now",
            "with more time to spare if it begins now",
        ],
        ["hopeless", "being hopeless", "that can still be on time", "that cannot be on time any more"],
        ["fits", "room for a size that suffices", "for which there is too little room", "for which there is room"],
        ["sufficient", "cores that suffice", "that needs fewer cores", "that needs more cores"],
        ["core_time", "core time", "with less core time", "with more core time"],
        ["time", "time at a size that suffices", "that takes less time", "that takes more time"],
        [
            "shortest_time",
            "time at its largest size",
            "that takes less time at its largest size",
            "that takes more time at its largest size",
        ],
        ["chance", "chance to be on time", "with a smaller chance to be on time", "with a larger chance to be on time"],
        ["uncertainty", "uncertainty of its time", "whose time is known better", "whose time is known less well"],
        ["requested", "cores requested", "that requests fewer cores", "that requests more cores"],
        ["request_fits", "room for its request", "whose request does not fit", "whose request fits"],
        [
            "threads",
            "cores used as submitted",
            "that uses fewer cores as submitted",
            "that uses more cores as submitted",
        ],
        ["age", "time since it arrived", "that arrived later", "that arrived earlier"],
        ["arrival_order", "place by arrival", "that arrived earlier", "that arrived later"],
        ["waiting", "jobs that wait", "", ""],
        ["hopeless_jobs", "hopeless jobs", "", ""],
        ["fitting_jobs", "jobs that could begin at a size that suffices", "", ""],
        ["backlog", "core time that waits, per core", "", ""],
        ["running", "jobs that run", "", ""],
        ["free_cores", "free cores of the emptiest node", "", ""],
        ["free_share", "share of cores that is free", "", ""],
    ];
    LevelWords::new(["job", "job", "prefers a job", "picks the job"], &quantities)
        .ends("is_none", "to start a job while one waits", "to start none")
        .ends("hopeless", "that can still be on time", "that cannot be on time any more")
}

fn class() -> LevelWords {
    let quantities = [
        ["is_elastic", "a size of its own", "something else than a size of its own", "a size of its own"],
        [
            "is_as_submitted",
            "starting as submitted",
            "something else than starting as submitted",
            "to start it as submitted",
        ],
        ["is_best_effort", "giving its deadline up", "to keep its deadline", "to give its deadline up"],
        ["is_refused", "refusing it", "not to refuse it", "to refuse it"],
        ["slack_then", "time to spare then", "what leaves less time to spare", "what leaves more time to spare"],
        ["cores_then", "cores then", "what takes fewer cores", "what takes more cores"],
        ["running", "running already", "", ""],
        ["hopeless", "being hopeless", "", ""],
        ["fits", "room for a size that suffices", "", ""],
        ["slack", "time to spare at its largest size", "", ""],
        ["slack_as_requested", "time to spare as requested", "", ""],
        ["request_fits", "room for its request", "", ""],
        ["waiting", "jobs that wait", "", ""],
        ["free_cores", "free cores of the emptiest node", "", ""],
    ];
    LevelWords::new(["class", "way to take it on", "prefers", "chooses"], &quantities)
}

fn amount() -> LevelWords {
    let quantities = [
        ["cores", "cores", "fewer cores", "more cores"],
        ["is_kept", "keeping its size", "another size", "the size that it has"],
        ["change", "cores more than it has", "to shrink it", "to grow it"],
        [
            "beyond_sufficient",
            "cores beyond what suffices",
            "fewer cores beyond what suffices",
            "more cores beyond what suffices",
        ],
        [
            "is_sufficient",
            "being just enough",
            "another size than the smallest that suffices",
            "the smallest size that suffices",
        ],
        ["suffices", "being enough", "a size that does not suffice", "a size that suffices"],
        ["slack", "time to spare", "what leaves less time to spare", "what leaves more time to spare"],
        [
            "slack_share",
            "time to spare, as a share",
            "what leaves a smaller share of time to spare",
            "what leaves a larger share of time to spare",
        ],
        ["chance", "chance to be on time", "a smaller chance to be on time", "a larger chance to be on time"],
        ["time", "time until complete", "what takes less time", "what takes more time"],
        ["core_time", "core time until complete", "what takes less core time", "what takes more core time"],
        ["unused", "cores left idle", "what leaves fewer cores idle", "what leaves more cores idle"],
        [
            "begin_then",
            "jobs that could begin then",
            "what lets fewer waiting jobs begin",
            "what lets more waiting jobs begin",
        ],
        ["free_then", "cores free then", "what leaves fewer cores free", "what leaves more cores free"],
        ["running", "running already", "", ""],
        ["best_effort", "having its deadline given up", "", ""],
        ["as_submitted", "running as submitted", "", ""],
        ["hopeless", "being hopeless", "", ""],
        ["sufficient", "cores that suffice", "", ""],
        ["held", "cores that it has", "", ""],
        ["slack_kept", "time to spare with what it has", "", ""],
        ["slack_kept_share", "time to spare with what it has, as a share", "", ""],
        ["spare_checks", "checks with time to spare", "", ""],
        ["unchanged", "time since its size changed", "", ""],
        ["time_left", "time that it still needs", "", ""],
        ["waiting", "jobs that wait", "", ""],
        ["fitting_jobs", "jobs that could begin at a size that suffices", "", ""],
        ["urgent", "time that waiting jobs can still wait", "", ""],
        ["missing", "cores missing to begin another job", "", ""],
        ["backlog", "core time that waits, per core", "", ""],
        ["free_cores", "free cores of the emptiest node", "", ""],
    ];
    LevelWords::new(["amount", "size", "prefers", "gives"], &quantities)
}
