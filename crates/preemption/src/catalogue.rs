//! Guards, orders, borders, terms and heuristics of the `preemption` scenario by name.

use sched_distill_core::{
    model::Shape::{Linear, Log},
    scenario::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, guard, rule},
};

pub(super) const CATALOGUE: Catalogue =
    Catalogue { guards: &GUARDS, orders: &ORDERS, borders: &BORDERS, terms: &TERMS, rules: &RULES };

const GUARDS: [GuardTemplate; 16] = [
    guard("fitting-first", "job: fits > 0 first", &[], "jobs for which there is room come first"),
    guard("no-lending", "job: is_lent > 0 last", &[], "GPUs that claims reserve are not lent"),
    guard(
        "lend-if-back",
        "job: is_lent > 0 and is_back <= 0 never",
        &[],
        "GPUs that claims reserve are lent only to jobs that are back in time",
    ),
    guard(
        "only-if-it-pays",
        "job: fits <= 0 and is_lent <= 0 and is_none <= 0 and pays <= 0 never",
        &[],
        "jobs are suspended only where it pays",
    ),
    guard(
        "short",
        "job: gpu_time_ratio <= {} and is_none <= 0 first",
        &[1.0, 1.5, 2.0, 4.0],
        "jobs with about the least GPU time left come first",
    ),
    guard(
        "large",
        "job: gpu_time_rank > {} last",
        &[2.0, 4.0, 8.0, 16.0],
        "jobs with more GPU time left than so many others are not served",
    ),
    guard(
        "starvation",
        "job: waited > {} first",
        &[3.6e6, 7.2e6, 1.44e7, 2.88e7],
        "jobs that have waited longer than this come first",
    ),
    guard("last-first", "job: is_last > 0 first", &[], "who will be the last to end begins first"),
    guard(
        "cheap",
        "job: price > {} last",
        &[3e5, 6e5, 1.2e6, 2.4e6],
        "nobody is suspended for jobs for which more GPU time would be lost than this",
    ),
    guard(
        "near-end",
        "victim: is_none <= 0 and to_epoch_end <= {} last",
        &[3e4, 6e4, 1.2e5, 3e5],
        "jobs near their epoch's end are spared",
    ),
    guard(
        "far-from-end",
        "victim: to_epoch_end > {} last",
        &[3e4, 6e4, 1.2e5, 3e5, 6e5],
        "jobs far from their epoch's end are spared",
    ),
    guard(
        "immune",
        "victim: is_none <= 0 and epochs_run <= {} last",
        &[0.0, 1.0, 2.0],
        "jobs that have just begun are spared",
    ),
    guard(
        "often",
        "victim: preemptions > {} last",
        &[0.0, 1.0, 2.0, 4.0],
        "jobs that were suspended more often than this are spared",
    ),
    guard("must-pay", "victim: is_none <= 0 and pays <= 0 last", &[], "jobs are spared whose suspension does not pay"),
    guard("enough", "victim: is_none <= 0 and beyond_need < 0 last", &[], "only jobs with GPUs enough are suspended"),
    guard("protect-last", "victim: is_last > 0 last", &[], "who will be the last to end is spared"),
];

const ORDERS: [(&str, &str, bool); 13] = [
    ("job", "time_rank", false),
    ("job", "gpu_time_rank", false),
    ("job", "gpu_time", false),
    ("job", "age_rank", true),
    ("job", "service_rank", false),
    ("job", "gittins_rank", true),
    ("job", "fits", true),
    ("victim", "left_rank", true),
    ("victim", "gpu_left_rank", true),
    ("victim", "price_share_rank", false),
    ("victim", "to_epoch_end_rank", false),
    ("victim", "gain", true),
    ("victim", "in_division", true),
];

const BORDERS: [(&str, &str, &[f32]); 4] = [
    ("job", "waiting", &[5.0, 10.0, 20.0, 40.0]),
    ("job", "free_gpus", &[0.0, 2.0, 8.0]),
    ("job", "claims", &[0.0, 1.0]),
    ("victim", "need", &[1.0, 2.0, 4.0]),
];

const TERMS: [TermTemplate; 27] = [
    ("job", &[("time", Log)]),
    ("job", &[("gpu_time", Log)]),
    ("job", &[("is_none", Linear)]),
    ("job", &[("fits", Linear)]),
    ("job", &[("pays", Linear)]),
    ("job", &[("gain", Linear)]),
    ("job", &[("otherwise", Log)]),
    ("job", &[("ready", Log)]),
    ("job", &[("gpus", Log)]),
    ("job", &[("waited", Log)]),
    ("job", &[("is_lent", Linear)]),
    ("job", &[("is_back", Linear)]),
    ("job", &[("is_last", Linear)]),
    ("job", &[("is_longer_covered", Linear)]),
    ("job", &[("is_none", Linear), ("free_gpus", Log)]),
    ("job", &[("is_none", Linear), ("waiting", Log)]),
    ("victim", &[("is_none", Linear)]),
    ("victim", &[("left", Log)]),
    ("victim", &[("gpu_left", Log)]),
    ("victim", &[("gain", Linear)]),
    ("victim", &[("price_share", Log)]),
    ("victim", &[("to_epoch_end", Log)]),
    ("victim", &[("beyond_need", Linear)]),
    ("victim", &[("gpus", Log)]),
    ("victim", &[("in_division", Linear)]),
    ("victim", &[("pays", Linear)]),
    ("victim", &[("is_longer", Linear)]),
];

const RULES: [RuleTemplate; 19] = [
    rule(
        "first-come-first-served",
        "job: is_none <= 0 and arrival_order > 0 never, is_none <= 0 and fits <= 0 never, smallest is_none",
        "in order of arrival; nobody begins before who arrived first",
    ),
    rule(
        "shortest-that-fits",
        "job: is_none <= 0 and fits <= 0 never, smallest is_none, smallest time_rank",
        "the least time left first of the jobs for which there is room",
    ),
    rule(
        "least-gpu-time-that-fits",
        "job: is_none <= 0 and fits <= 0 never, smallest is_none, smallest gpu_time_rank",
        "the least GPU time left first of the jobs for which there is room",
    ),
    rule(
        "least-predicted-gpu-time-that-fits",
        "job: is_none <= 0 and fits <= 0 never, smallest is_none, smallest tree_gpu_time_rank",
        "the least GPU time first, as a small tree has it, of the jobs for which there is room",
    ),
    rule(
        "shortest-remaining",
        "job: is_none <= 0 and fits <= 0 and is_longer_covered <= 0 never, smallest is_none, smallest time_rank",
        "the least time left first, as long as there is room or longer jobs can give it",
    ),
    rule(
        "shortest-remaining-if-it-pays",
        "job: is_none <= 0 and fits <= 0 and pays <= 0 never, smallest is_none, smallest time_rank",
        "the least time left first, as long as there is room or suspending others pays",
    ),
    rule(
        "shortest-remaining-if-it-pays-last-first",
        "job: is_none <= 0 and fits <= 0 and pays <= 0 never, is_last > 0 and fits > 0 first, smallest is_none, smallest time_rank",
        "who will be the last to end first, then the least time left, as long as there is room or suspending others pays",
    ),
    rule(
        "least-gpu-time-if-it-pays",
        "job: is_none <= 0 and fits <= 0 and pays <= 0 never, smallest is_none, smallest gpu_time_rank",
        "the least GPU time left first, as long as there is room or suspending others pays",
    ),
    rule(
        "least-gpu-time-if-covered",
        "job: is_none <= 0 and fits <= 0 and is_longer_covered <= 0 never, smallest is_none, smallest gpu_time_rank",
        "the least GPU time left first, as long as there is room or longer jobs can give it",
    ),
    rule(
        "least-served",
        "job: smallest is_none, smallest is_long_served, largest age_rank",
        "jobs that have had little GPU time first, in order of arrival",
    ),
    rule("likeliest-to-complete", "job: smallest is_none, largest gittins_rank", "the largest Gittins index first"),
    rule("serve-no-one", "job: largest is_none", "no job is served"),
    rule(
        "suspend-the-longest",
        "victim: is_none <= 0 and is_longer <= 0 never, smallest is_none, largest left_rank",
        "the job with the most time left is suspended, if it has more than the one in question",
    ),
    rule(
        "suspend-the-cheapest",
        "victim: is_none <= 0 and pays <= 0 never, smallest is_none, smallest price_share_rank",
        "the job is suspended that costs the smallest share of its time, of those whose suspension pays",
    ),
    rule(
        "ordered-division",
        "victim: is_none <= 0 and in_division <= 0 never, smallest is_none, smallest price_share_rank",
        "the cheapest job of the ordered division is suspended",
    ),
    rule(
        "suspend-at-the-epochs-end",
        "victim: is_none <= 0 and is_longer <= 0 never, smallest is_none, smallest to_epoch_end_rank",
        "of the longer jobs the one is suspended whose epoch ends first",
    ),
    rule(
        "suspend-the-longest-served",
        "victim: is_none <= 0 and is_longer_served <= 0 never, smallest is_none, largest arrival_order_rank",
        "the last to arrive is suspended of the jobs that have had much GPU time, if the one in question has not",
    ),
    rule(
        "suspend-the-least-likely",
        "victim: is_none <= 0 and is_less_likely <= 0 never, smallest is_none, smallest gittins_rank",
        "the job with the smallest Gittins index is suspended, if it is smaller than that of the one in question",
    ),
    rule("suspend-no-one", "victim: largest is_none", "no job is suspended"),
];
