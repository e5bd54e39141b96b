//! What the `preemption` scenario calls things in sentences for readers.

use sched_distill_core::level::{KindWords, LevelWords, Words, pairs};

/// Words for the kinds, levels and quantities of the `preemption` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("room", "a waiting job fits"),
            KindWords::new("full", "no waiting job fits"),
            KindWords::new("condemn", "jobs are to be suspended for a waiting one"),
        ],
        levels: vec![job(), victim()],
        policies: pairs(&[
            ("fifo", "first come, first served"),
            ("sjf", "the shortest job first, and nobody is suspended"),
            ("srtf", "the least time left first, by suspending longer jobs whatever that costs"),
            ("las", "jobs that have had little GPU time first, by suspending others"),
            ("gittins", "jobs that are likeliest to complete first, by suspending others"),
            ("pickyman", "the least time left first, by suspending others where that pays"),
            ("lucid-like", "the least GPU time first, as a small tree predicts it, and nobody is suspended"),
            ("tiresias", "the rules of Tiresias' simulator"),
        ]),
        edge_cases: pairs(&[
            ("burst", "all jobs arrive at once"),
            ("wide", "one job in ten wants all GPUs"),
            ("giants", "one job in ten is a giant"),
            ("understated", "half of the users understate"),
        ]),
        figures: pairs(&[("waiting_ms", "mean waiting of jobs")]),
    }
}

fn job() -> LevelWords {
    let quantities = [
        ["is_none", "serving no job", "to serve a job rather than none", "to serve none"],
        ["gpus", "GPUs", "with fewer GPUs", "with more GPUs"],
        ["time", "time left", "with less time left", "with more time left"],
        ["gpu_time", "GPU time left", "with less GPU time left", "with more GPU time left"],
        [
            "tree_gpu_time",
            "GPU time as a small tree has it",
            "with less GPU time as a small tree has it",
            "with more GPU time as a small tree has it",
        ],
        ["load_time", "time to load", "that loads faster", "that loads more slowly"],
        ["waited", "time waited", "that has waited less", "that has waited longer"],
        ["age", "time since it arrived", "that arrived later", "that arrived earlier"],
        ["arrival_order", "place by arrival", "that arrived earlier", "that arrived later"],
        ["service", "GPU time had", "that has had less GPU time", "that has had more GPU time"],
        ["is_long_served", "having had much GPU time", "that has had little GPU time", "that has had much GPU time"],
        ["gittins", "Gittins index", "that is less likely to complete", "that is likelier to complete"],
        ["preemptions", "times it was suspended", "that was suspended less often", "that was suspended more often"],
        ["fits", "room for it", "for which there is no room", "for which there is room"],
        ["is_lent", "need of reserved GPUs", "that needs no reserved GPUs", "that takes reserved GPUs"],
        [
            "is_back",
            "being back in time",
            "that would not be back in time",
            "that would give reserved GPUs back in time",
        ],
        ["need", "GPUs missing", "that lacks fewer GPUs", "that lacks more GPUs"],
        [
            "is_longer_covered",
            "longer jobs with GPUs enough",
            "for which longer jobs do not suffice",
            "for which longer jobs have GPUs enough",
        ],
        [
            "divides",
            "longer jobs to suspend",
            "for which there are no longer jobs to suspend",
            "for which longer jobs could be suspended",
        ],
        ["delay", "delay of those suspended", "that delays others less", "that delays others more"],
        [
            "otherwise",
            "time until there is room anyway",
            "for which there is room soon anyway",
            "for which there is no room for long",
        ],
        [
            "gain",
            "gain by suspending others",
            "that gains less by suspending others",
            "that gains more by suspending others",
        ],
        ["quiet", "gaps without an arrival", "", ""],
        [
            "pays",
            "suspending others pays",
            "for which suspending others does not pay",
            "for which suspending others pays",
        ],
        ["price", "GPU time that it costs", "that costs less GPU time", "that costs more GPU time"],
        ["ready", "time until there is room", "for which there is room sooner", "for which there is room later"],
        ["is_last", "being the last to end", "that will not be the last to end", "that will be the last to end"],
        [
            "shorter_backlog",
            "shorter jobs' GPU time that waits, per GPU",
            "before which less GPU time of shorter jobs waits",
            "before which more GPU time of shorter jobs waits",
        ],
        ["waiting", "jobs that wait", "", ""],
        ["fitting_jobs", "jobs that fit", "", ""],
        ["backlog", "GPU time that waits, per GPU", "", ""],
        ["load", "GPU time left, per GPU", "", ""],
        ["computing", "jobs that compute", "", ""],
        ["free_gpus", "free GPUs", "", ""],
        ["reserved_gpus", "reserved GPUs", "", ""],
        ["claims", "jobs with a claim", "", ""],
        ["condemnable_gpus", "GPUs of jobs that can be suspended", "", ""],
        ["transfers", "transfers under way", "", ""],
    ];
    LevelWords::new(["job", "job", "prefers a job", "picks the job"], &quantities).ends(
        "is_none",
        "to serve a job while one waits",
        "to serve none",
    )
}

fn victim() -> LevelWords {
    let quantities = [
        ["is_none", "suspending no job", "to suspend a job rather than none", "to suspend none"],
        ["gpus", "GPUs that it gives", "with fewer GPUs", "with more GPUs"],
        ["beyond_need", "GPUs beyond the need", "with fewer GPUs beyond the need", "with more GPUs beyond the need"],
        ["left", "time left", "with less time left", "with more time left"],
        [
            "left_after_epoch",
            "time left after its epoch",
            "with less time left after its epoch",
            "with more time left after its epoch",
        ],
        [
            "left_more",
            "time left beyond the other's",
            "with less time left beyond the other's",
            "with more time left beyond the other's",
        ],
        ["is_longer", "being longer", "that is not longer", "that is longer"],
        ["gpu_left", "GPU time left", "with less GPU time left", "with more GPU time left"],
        ["to_epoch_end", "time to its epoch's end", "near its epoch's end", "far from its epoch's end"],
        ["epoch", "time of an epoch", "with shorter epochs", "with longer epochs"],
        ["save_time", "time to save it", "that is saved faster", "that is saved more slowly"],
        ["load_time", "time to load it again", "that loads faster", "that loads more slowly"],
        ["price", "GPU time that it costs", "that costs less GPU time", "that costs more GPU time"],
        [
            "price_share",
            "price, as a share of its time left",
            "that costs a smaller share of its time",
            "that costs a larger share of its time",
        ],
        ["quiet", "gaps without an arrival", "", ""],
        ["gain", "gain", "whose suspension gains less", "whose suspension gains more"],
        ["pays", "its suspension pays", "whose suspension does not pay", "whose suspension pays"],
        ["in_division", "the ordered division", "outside the ordered division", "of the ordered division"],
        ["epochs_run", "epochs since it began", "that has just begun", "that has run for more epochs"],
        ["preemptions", "times it was suspended", "that was suspended less often", "that was suspended more often"],
        ["service", "GPU time had", "that has had less GPU time", "that has had more GPU time"],
        ["is_long_served", "having had much GPU time", "that has had little GPU time", "that has had much GPU time"],
        ["is_longer_served", "a later queue", "of no later queue than the other", "of a later queue than the other"],
        ["gittins", "Gittins index", "that is less likely to complete", "that is likelier to complete"],
        [
            "is_less_likely",
            "a smaller Gittins index",
            "of no smaller index than the other",
            "of a smaller index than the other",
        ],
        ["waited", "time waited", "that has waited less", "that has waited longer"],
        ["arrival_order", "place by arrival", "that arrived earlier", "that arrived later"],
        ["is_last", "being the last to end", "that will not be the last to end", "that will be the last to end"],
        ["is_spread", "being spread", "that is packed", "that is spread"],
        [
            "shorter_waiting",
            "shorter jobs that wait",
            "than which fewer waiting jobs are shorter",
            "than which more waiting jobs are shorter",
        ],
        [
            "shorter_backlog",
            "shorter jobs' GPU time that waits, per GPU",
            "than which less GPU time of shorter jobs waits",
            "than which more GPU time of shorter jobs waits",
        ],
        ["claim_time", "time left of the job in question", "", ""],
        ["claim_gpus", "GPUs of the job in question", "", ""],
        ["claim_waited", "time that it has waited", "", ""],
        ["claim_otherwise", "time until there is room for it", "", ""],
        ["need", "GPUs still needed", "", ""],
        ["waiting", "jobs that wait", "", ""],
        ["computing", "jobs that compute", "", ""],
        ["load", "GPU time left, per GPU", "", ""],
    ];
    LevelWords::new(["victim", "job to suspend", "prefers a job", "suspends the job"], &quantities).ends(
        "is_none",
        "to suspend a job",
        "to suspend none",
    )
}
