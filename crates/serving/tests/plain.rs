//! Rows of features are, bit by bit, what they come to when each number is worked out on its own, as plainly as can be.

use sched_distill_core::{
    level::NONE_FLAG,
    policy::Policy,
    scenario::{Questions as _, Said},
    simulation::{Simulated as _, Simulation as _},
};
use sched_distill_serving::{
    Application, Batch, GroupView, Question, Serving, View,
    feature::{Extractor, feature_set},
    policies,
};

/// Names and values, in the order of the feature set but for ranks and ratios.
type Row = Vec<(&'static str, f64)>;

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// A batch with the sum of its paces, the time its tasks would take in full batches, and when the oldest arrived.
type Sums = (Batch, f64, f64, f64);

const NO_TASKS: Sums = (Batch { count: 0, largest: 0, total: 0 }, 0.0, 0.0, f64::INFINITY);

fn formed(seen: &View<'_>, of: &Application) -> Sums {
    let add = |(pace, full, oldest): (f64, f64, f64), (size, arrival_ms): (u32, f64)| {
        (pace + 1.0 / of.solo_ms(size), full + of.full_ms(size), oldest.min(arrival_ms))
    };
    let (pace, full, oldest) = seen.formed().fold((0.0, 0.0, f64::INFINITY), add);
    (seen.batch(), pace, full, oldest)
}

fn merit(seen: &View<'_>, of: &Application, (batch, _, full, oldest): Sums) -> f64 {
    if batch.count == 0 {
        return 0.0;
    }
    let ms = of.ms(batch);
    f64::from(batch.count) * full.powi(2).powi(2) * (1.0 + (seen.time_ms() - oldest)).sqrt() / (ms.powi(2).powi(2) * ms)
}

/// Of a batch with tasks of all windows of sizes, the largest first and as many as fit, the one with the most merit, and the sizes that
/// join.
fn best(seen: &View<'_>, of: &Application, groups: &[GroupView], start: Sums) -> (Sums, Vec<u32>) {
    let mut best = (start, Vec::new());
    for most in 0..groups.len() {
        for least in (0..=most).rev() {
            let mut sums = start;
            for group in groups[least..=most].iter().rev() {
                let mut count = 0;
                while count < group.count && of.holds(sums.0.with(group.size)) {
                    (sums.0, count) = (sums.0.with(group.size), count + 1);
                }
                if count > 0 {
                    sums.1 += f64::from(count) * group.pace;
                    sums.2 += f64::from(count) * of.full_ms(group.size);
                    sums.3 = sums.3.min(group.arrival_ms);
                }
                if count < group.count {
                    break;
                }
            }
            if merit(seen, of, sums) > merit(seen, of, best.0) * (1.0 + 1e-12) {
                best = (sums, groups[least..=most].iter().map(|group| group.size).collect());
            }
        }
    }
    best
}

fn all_pace(seen: &View<'_>) -> f64 {
    (0..seen.applications()).map(|application| seen.queue(application).pace()).sum()
}

fn application(seen: &View<'_>, application: u32) -> Row {
    let (queue, of, now) = (seen.queue(application), seen.queue(application).application(), seen.time_ms());
    let (waited, solo) = queue.oldest().map_or((0.0, 1.0), |o| (now - o.arrival_ms, of.solo_ms(o.size)));
    let sums = match seen.question() {
        Question::Serve => best(seen, of, &queue.groups().collect::<Vec<_>>(), NO_TASKS).0,
        Question::Form(_) => formed(seen, of),
    };
    let (batch, pace, full, _) = sums;
    let (count, most, tasks) = (f64::from(queue.count()), f64::from(of.most), f64::from(batch.count));
    let time = if batch.count > 0 { of.ms(batch) } else { 0.0 };
    let had = |a: u32| seen.queue(a).used_ms() / seen.queue(a).application().weight;
    let all_had: f64 = (0..seen.applications()).map(|a| had(a).max(0.0)).sum();
    let next_end = seen.running().map(|r| (r.ends_ms - now).max(0.0)).reduce(f64::min);
    vec![
        (NONE_FLAG, 0.0),
        ("tasks", count),
        ("waited", waited),
        ("solo", solo),
        ("slowdown", (waited + solo) / solo),
        ("slack", of.objective_ms - waited - solo),
        ("filling", (count / most).min(1.0)),
        ("is_full", flag(count >= most)),
        ("is_timed_out", flag(seen.is_timed_out(application))),
        ("batch", tasks),
        ("batch_time", time),
        ("task_time", time / tasks.max(1.0)),
        ("efficiency", full / time.max(1e-9)),
        ("relief", 1e6 * (pace / time.max(1e-9))),
        ("merit", 1e3 * merit(seen, of, sums)),
        ("urgency", 1e3 * queue.pace()),
        ("used", had(application)),
        ("used_share", if all_had > 0.0 { had(application).max(0.0) / all_had } else { 0.0 }),
        ("turn", f64::from(seen.turn(application))),
        ("arrivals", 1e3 * queue.rate()),
        ("to_full", if count >= most { 0.0 } else { ((most - count) / queue.rate()).min(1e6) }),
        ("waiting", f64::from(seen.waiting())),
        ("asking", seen.candidates().count() as f64),
        ("all_urgency", 1e3 * all_pace(seen)),
        ("idle", f64::from(seen.idle())),
        ("next_end", next_end.unwrap_or(0.0)),
    ]
}

fn task(seen: &View<'_>, application: u32, group: GroupView) -> Row {
    let (queue, batch, of) = (seen.queue(application), seen.batch(), seen.queue(application).application());
    let (waited, solo, with) =
        (seen.time_ms() - group.arrival_ms, of.solo_ms(group.size), of.ms(batch.with(group.size)));
    let (count, time) = (f64::from(batch.count), if batch.count > 0 { of.ms(batch) } else { 0.0 });
    let sums = formed(seen, of);
    let (all, pace) = (best(seen, of, &queue.groups().collect::<Vec<_>>(), sums), sums.1);
    let left = seen.formed().map(|(_, arrival_ms)| arrival_ms + of.objective_ms - seen.time_ms() - time);
    let (added, others) = (with - time, seen.candidates().filter(|&a| a != application).count());
    vec![
        (NONE_FLAG, 0.0),
        ("size", f64::from(group.size)),
        ("alike", f64::from(group.count)),
        ("waited", waited),
        ("is_oldest", flag(queue.oldest().is_some_and(|oldest| oldest.task == group.task))),
        ("solo", solo),
        ("slowdown", (waited + solo) / solo),
        ("passed", group.passed as f64),
        ("difference", f64::from(group.size.abs_diff(batch.largest))),
        ("is_larger", flag(group.size > batch.largest)),
        ("added", added),
        ("saved", solo - added),
        ("task_time_change", if batch.count > 0 { with / (count + 1.0) - time / count } else { 0.0 }),
        ("is_best", flag(all.1.contains(&group.size))),
        ("pays", flag(batch.count == 0 || of.pays(batch, group.size))),
        ("relief", (1e6 / solo / added.max(1e-9)).min(1e12)),
        ("delay", added * pace),
        ("all_delay", added * (pace + all_pace(seen) - 1.0 / solo)),
        ("slack", of.objective_ms - waited - with),
        ("makes_late", flag(left.into_iter().any(|left| left >= 0.0 && added > left))),
        ("batch", count),
        ("filling", count / f64::from(of.most)),
        ("batch_time", time),
        ("batch_urgency", 1e3 * pace),
        (
            "batch_merit",
            if merit(seen, of, all.0) == 0.0 { 0.0 } else { merit(seen, of, sums) / merit(seen, of, all.0) },
        ),
        ("tasks", f64::from(queue.count())),
        ("waiting", f64::from(seen.waiting())),
        ("others", others as f64),
        ("all_urgency", 1e3 * all_pace(seen)),
        ("arrivals", 1e3 * queue.rate()),
    ]
}

/// All columns of these candidates and, if `has_none`, of none, which has the last `shared` values.
fn table(level: usize, rows: &[Row], has_none: bool, shared: usize) -> Vec<f32> {
    let width = rows.first().map_or(0, Vec::len);
    let column = |i: usize| rows.iter().map(move |row| row[i].1);
    let number = |name: &str, row: usize, i: usize| {
        let (base, value) = rows[row][i];
        let least = column(i).fold(f64::INFINITY, f64::min);
        match name.strip_prefix(base).unwrap_or_else(|| panic!("{name}, not {base}")) {
            "" => value as f32,
            "_rank" => column(i).filter(|other| *other < value).count() as f32,
            // Of all quantities those in ms have ratios to 1 ms at least.
            "_ratio" if base == "tasks" || base == "size" => ((value + 1.0) / (least + 1.0)) as f32,
            _ => (value / least.max(1.0)) as f32,
        }
    };
    let mut table = Vec::new();
    for row in 0..rows.len() + usize::from(has_none) {
        let mut i = 0;
        for (place, feature) in feature_set().levels[level].features.iter().enumerate() {
            let is_base = !feature.name.ends_with("_rank") && !feature.name.ends_with("_ratio");
            i += usize::from(is_base && place > 0);
            table.push(match row < rows.len() {
                true => number(&feature.name, row, i),
                false if place == 0 => 1.0,
                false => {
                    if i >= width - shared {
                        rows[0][i].1 as f32
                    } else {
                        0.0
                    }
                }
            });
        }
    }
    table
}

#[test]
fn rows_are_what_each_number_comes_to() {
    let mut seen_rows = 0;
    for spec in [
        "builtin,seconds=0.4,load=1.2,accelerators=2",
        "builtin,seconds=0.4,applications=8,load=2",
        "builtin,seconds=0.3,applications=3,memory=100,edge=understated,load=2",
        "builtin,seconds=0.3,law=dynamic,objective=4",
        "builtin,seconds=0.2,applications=1,shapes=4/16,edge=burst,timeout=1,load=0.7",
    ] {
        let workload = Serving::open_workload(&spec.parse().unwrap()).unwrap();
        for (seed, policy) in [(3, "dybatch"), (4, "tf-serving,timeout=8")] {
            let mut sim = Serving::start(&workload, workload.jobs(seed), seed);
            let (mut extractor, mut x) = (Extractor::default(), Vec::new());
            let mut policy: Box<dyn Policy<Serving>> = policies::open(&policy.parse().unwrap()).unwrap();
            while let Some(seen) = sim.view() {
                extractor.update(&seen);
                x.clear();
                extractor.rows(&seen, &[], false, &mut x);
                let tables = match seen.question() {
                    Question::Serve => {
                        let rows: Vec<Row> = seen.candidates().map(|a| application(&seen, a)).collect();
                        table(0, &rows, true, 5)
                    }
                    Question::Form(a) => {
                        extractor.rows(&seen, &[0], false, &mut x);
                        let rows: Vec<Row> = seen.groups().map(|group| task(&seen, a, group)).collect();
                        [table(0, &[application(&seen, a)], false, 5), table(1, &rows, seen.batch().count > 0, 10)]
                            .concat()
                    }
                };
                let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
                assert_eq!(bits(&x), bits(&tables), "{spec} at {} ms: {x:?}, not {tables:?}", seen.time_ms());
                seen_rows += x.len() / 44;
                sim.step(policy.decide(&seen, &mut Said::default()).unwrap()).unwrap();
            }
        }
    }
    assert!(seen_rows > 10_000, "{seen_rows}");
}
