//! Guards, orders, borders, terms and heuristics of the `preemption` scenario by name.

use sched_distill_core::{
    model::Shape::{Linear, Log},
    scenario::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, guard, rule},
};

pub(super) const CATALOGUE: Catalogue =
    Catalogue { guards: &GUARDS, orders: &ORDERS, borders: &BORDERS, terms: &TERMS, rules: &RULES };

const GUARDS: [GuardTemplate; 16] = [
    guard("fitting-first", "jobs for which there is room come first").is("job: fits > 0 first", &[]),
    guard("no-lending", "GPUs that claims reserve are not lent").is("job: is_lent > 0 last", &[]),
    guard("lend-if-back", "GPUs that claims reserve are lent only to jobs that are back in time")
        .is("job: is_lent > 0 and is_back <= 0 never", &[]),
    guard("only-if-it-pays", "jobs are suspended only where it pays")
        .is("job: fits <= 0 and is_lent <= 0 and is_none <= 0 and pays <= 0 never", &[]),
    guard("short", "jobs with about the least GPU time left come first")
        .is("job: gpu_time_ratio <= {} and is_none <= 0 first", &[1.0, 1.5, 2.0, 4.0]),
    guard("large", "jobs with more GPU time left than so many others are not served")
        .is("job: gpu_time_rank > {} last", &[2.0, 4.0, 8.0, 16.0]),
    guard("starvation", "jobs that have waited longer than this come first")
        .is("job: waited > {} first", &[3.6e6, 7.2e6, 1.44e7, 2.88e7]),
    guard("last-first", "who will be the last to end begins first").is("job: is_last > 0 first", &[]),
    guard("cheap", "nobody is suspended for jobs for which more GPU time would be lost than this")
        .is("job: price > {} last", &[3e5, 6e5, 1.2e6, 2.4e6]),
    guard("near-end", "jobs near their epoch's end are spared")
        .is("victim: is_none <= 0 and to_epoch_end <= {} last", &[3e4, 6e4, 1.2e5, 3e5]),
    guard("far-from-end", "jobs far from their epoch's end are spared")
        .is("victim: to_epoch_end > {} last", &[3e4, 6e4, 1.2e5, 3e5, 6e5]),
    guard("immune", "jobs that have just begun are spared")
        .is("victim: is_none <= 0 and epochs_run <= {} last", &[0.0, 1.0, 2.0]),
    guard("often", "jobs that were suspended more often than this are spared")
        .is("victim: preemptions > {} last", &[0.0, 1.0, 2.0, 4.0]),
    guard("must-pay", "jobs are spared whose suspension does not pay")
        .is("victim: is_none <= 0 and pays <= 0 last", &[]),
    guard("enough", "only jobs with GPUs enough are suspended")
        .is("victim: is_none <= 0 and beyond_need < 0 last", &[]),
    guard("protect-last", "who will be the last to end is spared").is("victim: is_last > 0 last", &[]),
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
    rule("first-come-first-served", "in order of arrival; nobody begins before who arrived first")
        .is("job: is_none <= 0 and arrival_order > 0 never, is_none <= 0 and fits <= 0 never, smallest is_none"),
    rule("shortest-that-fits", "the least time left first of the jobs for which there is room")
        .is("job: is_none <= 0 and fits <= 0 never, smallest is_none, smallest time_rank"),
    rule("least-gpu-time-that-fits", "the least GPU time left first of the jobs for which there is room")
        .is("job: is_none <= 0 and fits <= 0 never, smallest is_none, smallest gpu_time_rank"),
    rule("least-predicted-gpu-time-that-fits", "the least GPU time first, as a small tree has it, of the jobs for which there is room")
        .is("job: is_none <= 0 and fits <= 0 never, smallest is_none, smallest tree_gpu_time_rank"),
    rule("shortest-remaining", "the least time left first, as long as there is room or longer jobs can give it")
        .is("job: is_none <= 0 and fits <= 0 and is_longer_covered <= 0 never, smallest is_none, smallest time_rank"),
    rule("shortest-remaining-if-it-pays", "the least time left first, as long as there is room or suspending others pays")
        .is("job: is_none <= 0 and fits <= 0 and pays <= 0 never, smallest is_none, smallest time_rank"),
    rule("shortest-remaining-if-it-pays-last-first", "who will be the last to end first, then the least time left, as long as there is room or suspending others pays")
        .is("job: is_none <= 0 and fits <= 0 and pays <= 0 never, is_last > 0 and fits > 0 first, smallest is_none, smallest time_rank"),
    rule("least-gpu-time-if-it-pays", "the least GPU time left first, as long as there is room or suspending others pays")
        .is("job: is_none <= 0 and fits <= 0 and pays <= 0 never, smallest is_none, smallest gpu_time_rank"),
    rule("least-gpu-time-if-covered", "the least GPU time left first, as long as there is room or longer jobs can give it")
        .is("job: is_none <= 0 and fits <= 0 and is_longer_covered <= 0 never, smallest is_none, smallest gpu_time_rank"),
    rule("least-served", "jobs that have had little GPU time first, in order of arrival")
        .is("job: smallest is_none, smallest is_long_served, largest age_rank"),
    rule("likeliest-to-complete", "the largest Gittins index first").is("job: smallest is_none, largest gittins_rank"),
    rule("serve-no-one", "no job is served").is("job: largest is_none"),
    rule("suspend-the-longest", "the job with the most time left is suspended, if it has more than the one in question")
        .is("victim: is_none <= 0 and is_longer <= 0 never, smallest is_none, largest left_rank"),
    rule("suspend-the-cheapest", "the job is suspended that costs the smallest share of its time, of those whose suspension pays")
        .is("victim: is_none <= 0 and pays <= 0 never, smallest is_none, smallest price_share_rank"),
    rule("ordered-division", "the cheapest job of the ordered division is suspended")
        .is("victim: is_none <= 0 and in_division <= 0 never, smallest is_none, smallest price_share_rank"),
    rule("suspend-at-the-epochs-end", "of the longer jobs the one is suspended whose epoch ends first")
        .is("victim: is_none <= 0 and is_longer <= 0 never, smallest is_none, smallest to_epoch_end_rank"),
    rule("suspend-the-longest-served", "the last to arrive is suspended of the jobs that have had much GPU time, if the one in question has not")
        .is("victim: is_none <= 0 and is_longer_served <= 0 never, smallest is_none, largest arrival_order_rank"),
    rule("suspend-the-least-likely", "the job with the smallest Gittins index is suspended, if it is smaller than that of the one in question")
        .is("victim: is_none <= 0 and is_less_likely <= 0 never, smallest is_none, smallest gittins_rank"),
    rule("suspend-no-one", "no job is suspended").is("victim: largest is_none"),
];
