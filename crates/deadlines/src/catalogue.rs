//! Guards, orders, borders, terms and heuristics of the `deadlines` scenario by name.

use sched_distill_core::{
    model::Shape::{Linear, Log},
    scenario::{Catalogue, GuardTemplate, RuleTemplate, TermTemplate, guard, rule},
};

pub(super) const CATALOGUE: Catalogue =
    Catalogue { guards: &GUARDS, orders: &ORDERS, borders: &BORDERS, terms: &TERMS, rules: &RULES };

const GUARDS: [GuardTemplate; 16] = [
    guard("hopeless-last", "jobs that cannot be on time wait for the others").is("job: hopeless last", &[]),
    guard("hopeless-first", "jobs that cannot be on time are dealt with first").is("job: hopeless first", &[]),
    guard("no-fit-last", "jobs for which there is too little room wait for the others")
        .is("job: is_none <= 0 and fits <= 0 and hopeless <= 0 last", &[]),
    guard("unlikely", "jobs that are on time with no more than this probability wait for the others")
        .is("job: is_none <= 0 and chance <= {} last", &[0.05, 0.1, 0.25, 0.5, 0.75]),
    guard("urgent", "jobs with no more time to spare than this come first")
        .is("job: slack <= {} and hopeless <= 0 and is_none <= 0 first", &[6e4, 1.2e5, 3e5, 6e5]),
    guard("short", "jobs with about the least core time come first")
        .is("job: core_time_ratio <= {} and is_none <= 0 first", &[1.0, 1.5, 2.0, 4.0]),
    guard("large", "jobs with more core time than so many others wait for them")
        .is("job: core_time_rank > {} last", &[2.0, 4.0, 8.0, 16.0]),
    guard("starvation", "jobs that have waited longer than this come first")
        .is("job: age > {} first", &[3.6e6, 7.2e6, 1.44e7]),
    guard("give-up", "the deadline of a job that cannot be on time is given up")
        .is("class: hopeless > 0 and is_best_effort > 0 first", &[]),
    guard("hold-on", "the deadline of a job that can be on time is not given up")
        .is("class: hopeless <= 0 and is_best_effort > 0 never", &[]),
    guard("elastic", "jobs begin at sizes of their own").is("class: is_as_submitted > 0 last", &[]),
    guard("enough", "a job begins at a size that suffices")
        .is("amount: hopeless <= 0 and running <= 0 and suffices <= 0 last", &[]),
    guard("not-beyond", "no more cores beyond what suffices than these")
        .is("amount: beyond_sufficient > {} last", &[0.0, 1.0, 2.0, 4.0]),
    guard("keep", "a running job with more time to spare than this keeps its size")
        .is("amount: running > 0 and slack_kept > {} and is_kept > 0 first", &[0.0, 6e4, 3e5]),
    guard("settle", "a running job keeps its size for so long")
        .is("amount: running > 0 and unchanged <= {} and is_kept > 0 first", &[6e4, 1.2e5, 3e5]),
    guard("no-use", "a running job that cannot be on time does not grow")
        .is("amount: running > 0 and hopeless > 0 and change > 0 last", &[]),
];

const ORDERS: [(&str, &str, bool); 10] = [
    ("job", "due_rank", false),
    ("job", "slack_rank", false),
    ("job", "core_time_rank", false),
    ("job", "core_time", false),
    ("job", "age_rank", true),
    ("job", "chance", true),
    ("amount", "suffices", true),
    ("amount", "is_kept", true),
    ("amount", "cores_rank", false),
    ("amount", "chance", true),
];

const BORDERS: [(&str, &str, &[f32]); 4] = [
    ("job", "waiting", &[5.0, 10.0, 20.0]),
    ("job", "free_cores", &[4.0, 8.0, 16.0]),
    ("amount", "waiting", &[1.0, 5.0, 10.0]),
    ("amount", "free_cores", &[4.0, 8.0, 16.0]),
];

const TERMS: [TermTemplate; 22] = [
    ("job", &[("due", Log)]),
    ("job", &[("core_time", Log)]),
    ("job", &[("slack", Linear)]),
    ("job", &[("is_none", Linear)]),
    ("job", &[("hopeless", Linear)]),
    ("job", &[("fits", Linear)]),
    ("job", &[("chance", Linear)]),
    ("job", &[("sufficient", Linear)]),
    ("job", &[("slack_now", Linear)]),
    ("job", &[("is_none", Linear), ("free_cores", Log)]),
    ("class", &[("is_best_effort", Linear), ("hopeless", Linear)]),
    ("class", &[("is_as_submitted", Linear)]),
    ("class", &[("is_best_effort", Linear)]),
    ("amount", &[("is_kept", Linear)]),
    ("amount", &[("suffices", Linear)]),
    ("amount", &[("chance", Linear)]),
    ("amount", &[("cores", Log)]),
    ("amount", &[("slack_share", Linear)]),
    ("amount", &[("beyond_sufficient", Linear)]),
    ("amount", &[("core_time", Log)]),
    ("amount", &[("cores", Log), ("waiting", Log)]),
    ("amount", &[("cores", Log), ("running", Linear)]),
];

const RULES: [RuleTemplate; 24] = [
    rule("earliest-deadline", "the earliest deadline first").is("job: smallest is_none, smallest due_rank"),
    rule("least-slack", "the least time to spare first").is("job: smallest is_none, smallest slack_rank"),
    rule("first-come", "in order of arrival").is("job: smallest is_none, largest age_rank"),
    rule("least-core-time", "the least core time first").is("job: smallest is_none, smallest core_time_rank"),
    rule("earliest-that-fits", "hopeless jobs are dealt with, then the earliest deadline first of those for which there is room")
        .is("job: is_none <= 0 and hopeless <= 0 and fits <= 0 never, hopeless first, smallest is_none, smallest due_rank"),
    rule("least-slack-that-fits", "hopeless jobs are dealt with, then the least time to spare first of those for which there is room")
        .is("job: is_none <= 0 and hopeless <= 0 and fits <= 0 never, hopeless first, smallest is_none, smallest slack_rank"),
    rule("least-core-time-that-fits", "hopeless jobs are dealt with, then the least core time first of those for which there is room")
        .is("job: is_none <= 0 and hopeless <= 0 and fits <= 0 never, hopeless first, smallest is_none, smallest core_time_rank"),
    rule("earliest-hopeful-that-fits", "the earliest deadline first of the jobs that can be on time and for which there is room")
        .is("job: hopeless > 0 never, is_none <= 0 and fits <= 0 never, smallest is_none, smallest due_rank"),
    rule("earliest-request-that-fits", "the earliest deadline first of those whose request fits")
        .is("job: is_none <= 0 and request_fits <= 0 never, smallest is_none, smallest due_rank"),
    rule("first-request-that-fits", "in order of arrival, of those whose request fits")
        .is("job: is_none <= 0 and request_fits <= 0 never, smallest is_none, largest age_rank"),
    rule("never-start", "no job is started").is("job: largest is_none"),
    rule("test", "jobs get a size of their own, the deadlines of hopeless ones are given up")
        .is("class: hopeless > 0 and is_best_effort > 0 first, largest is_elastic"),
    rule("always-elastic", "jobs get a size of their own").is("class: largest is_elastic"),
    rule("as-submitted", "jobs begin as they were submitted").is("class: largest is_as_submitted"),
    rule("just-enough", "the smallest size that suffices").is("amount: largest is_sufficient"),
    rule("keep-or-enough", "the smallest size that suffices; running jobs keep their size")
        .is("amount: is_kept > 0 first, largest is_sufficient"),
    rule("keep-unless-late", "running jobs keep a size that keeps their deadline; otherwise the smallest that suffices")
        .is("amount: is_kept > 0 and slack_kept >= 0 first, largest is_sufficient"),
    rule("autoscale", "running jobs keep their size while they are neither late nor have had time to spare for two checks; otherwise the smallest that suffices")
        .is("amount: is_kept > 0 and slack_kept >= 0 and spare_checks <= 1 first, largest is_sufficient"),
    rule("keep-or-all", "as many cores as there are; running jobs keep their size")
        .is("amount: is_kept > 0 first, largest cores_rank"),
    rule("all-and-yield", "as many cores as there are; running jobs shrink to what suffices where that lets another job begin, and otherwise keep their size")
        .is("amount: running > 0 and missing > 0 and is_sufficient > 0 and begin_then > 0 first, is_kept > 0 first, largest cores_rank"),
    rule("one-core", "one core each").is("amount: smallest cores_rank"),
    rule("all-cores", "as many cores as there are").is("amount: largest cores_rank"),
    rule("surest", "the smallest size that is predicted to be on time")
        .is("amount: largest suffices, smallest cores_rank"),
    rule("least-waste", "of the sizes that suffice the one with least core time")
        .is("amount: largest suffices, smallest core_time_rank"),
];
