use super::*;
use crate::level::Scope;

type Tasks = (f64, f64);
type Q = Described<Job>;

#[derive(Clone, Debug)]
struct Job;

impl Level for Job {
    type Question<'a> = &'a [f64];
    type Candidate<'a> = &'a Tasks;

    const NAME: &'static str = "job";
    const QUANTITIES: &'static [Quantity<Self>] = &[
        Q::flag(Measured, NONE_FLAG, "Whether none.").words("none", "to take {one|none}").is_none(),
        Q::count(Declared, "tasks", "tasks", "Tasks")
            .and("left.")
            .ends("with no task", "with all tasks")
            .words("tasks left", "with {fewer|more} tasks")
            .compared(&|_, job| job.0),
        Q::time(Decided, "time", "Time.").words("time left", "that is {early|late}").ratio(&|_, job| job.1),
        Q::share(Measured, "share", "Share.").words("share", "with {less|more}").ranked(&|all, job| job.0 / all[0]),
        Q::flag(Measured, "is_idle", "Whether idle.")
            .words("idling", "that {works|idles}")
            .value(&|_, job| job.0 == 0.0),
        Q::absolute(Measured, "all", "tasks", "All tasks.").shared("all tasks", &|all| all[0]),
    ];
}

const JOBS: [Tasks; 4] = [(4.0, 0.0), (1.0, 8.0), (4.0, 0.5), (0.0, 2.0)];

/// Rows of some columns, after something that was there before.
fn rows(mut columns: Columns<Job>, jobs: &[Tasks], has_none: bool) -> Vec<f32> {
    let mut out = vec![7.0];
    assert_eq!(columns.write(&&[8.0][..], jobs, has_none, &mut out), jobs.len() + usize::from(has_none));
    out.split_off(1)
}

#[test]
fn what_a_quantity_is_and_its_words_and_values_stay_together() {
    let (spec, words) = (Job::spec("Which?", &["job"]), Job::words(["job", "prefers a job", "picks the job"]));
    assert_eq!((spec.name.as_str(), words.level.as_str()), ("job", "job"));
    let names: Vec<&str> = spec.features.iter().map(|f| f.name.as_str()).collect();
    let columns = [
        NONE_FLAG,
        "tasks",
        "tasks_rank",
        "tasks_ratio",
        "time",
        "time_ratio",
        "share",
        "share_rank",
        "is_idle",
        "all",
    ];
    assert_eq!(names, columns);
    assert_eq!([&*spec.features[1].meaning, &*spec.features[4].meaning], ["Tasks left.", "Time."]);
    let [rank, ratio] = [&spec.features[2], &spec.features[3]];
    assert_eq!((rank.scope, rank.whole, rank.control), (Scope::Rank, true, Declared));
    assert!(ratio.scope == Scope::Ratio && !ratio.whole && ratio.meaning.contains("(tasks + 1) / (min(tasks) + 1)"));
    let tasks = words.quantity("tasks").unwrap();
    assert_eq!([&*tasks.noun, &*tasks.less, &*tasks.more], ["tasks left", "with fewer tasks", "with more tasks"]);
    assert_eq!((tasks.least.as_deref(), tasks.most.as_deref()), (Some("with no task"), Some("with all tasks")));
    let all = words.quantity("all").unwrap();
    assert_eq!([&*all.noun, &*all.less, &*all.more], ["all tasks", "", ""]);
    let first = [0.0, 4.0, 2.0, 5.0, 0.0, 0.0, 0.5, 2.0, 0.0, 8.0];
    assert_eq!(rows(Columns::default(), &JOBS, false)[..10], first);
}

#[test]
fn ranks_share_the_lowest_place_and_ratios_start_at_one() {
    let rows = rows(Columns::default(), &JOBS, false);
    let column = |name: &str| {
        let place = Job::spec("Which?", &["job"]).features.iter().position(|f| f.name == name).unwrap();
        rows.iter().copied().skip(place).step_by(10).collect::<Vec<f32>>()
    };
    assert_eq!(column("tasks_rank"), [2.0, 1.0, 2.0, 0.0]);
    assert_eq!(column("tasks_ratio"), [5.0, 2.0, 5.0, 1.0]);
    assert_eq!(column("time_ratio"), [0.0, 8.0, 0.5, 2.0]);
    assert_eq!(column("is_idle"), [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn the_one_that_is_none_has_its_flag_and_what_all_share() {
    let with_none = rows(Columns::default(), &JOBS, true);
    assert_eq!(with_none[..40], rows(Columns::default(), &JOBS, false));
    assert_eq!(with_none[40..], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0]);
    assert_eq!(rows(Columns::default(), &[], true), with_none[40..]);
}

#[test]
fn wanted_columns_are_the_same_alone_and_the_others_are_0() {
    let all = rows(Columns::default(), &JOBS, true);
    for bits in 0..1024_u32 {
        let wanted: [bool; 10] = std::array::from_fn(|column| bits >> column & 1 == 1);
        let some = rows(Columns::limited(&wanted), &JOBS, true);
        assert_eq!(some.len(), all.len());
        for (place, (some, all)) in some.iter().zip(&all).enumerate() {
            assert_eq!(*some, if wanted[place % 10] { *all } else { 0.0 }, "column {} of {wanted:?}", place % 10);
        }
    }
}

#[test]
fn buffers_are_kept() {
    let (mut columns, mut out) = (Columns::<Job>::default(), Vec::new());
    columns.write(&&[8.0][..], &JOBS, true, &mut out);
    let kept = |columns: &Columns<Job>| (columns.candidates.as_ptr(), columns.values.as_ptr());
    let before = kept(&columns);
    columns.write(&&[8.0][..], &JOBS, true, &mut out);
    assert_eq!(kept(&columns), before);
}
