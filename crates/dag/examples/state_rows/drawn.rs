//! States and changes that are drawn: many jobs, durations of 0, large counts, what cannot be.

use sched_distill_core::rng::Stream;
use serde_json::{Map, Value, json};

/// One of some values.
fn one<T: Copy>(stream: &mut Stream, of: &[T]) -> T {
    of[stream.below(of.len())]
}

fn chance(stream: &mut Stream, share: f64) -> bool {
    stream.uniform() < share
}

/// A number of any size.
fn time(stream: &mut Stream) -> f64 {
    match stream.below(7) {
        0 => 0.0,
        1 => 1e15,
        2 => 1e-3,
        3 => 1500.0,
        _ => 10f64.powf(stream.uniform_in(-2.0, 9.0)),
    }
}

fn tasks(stream: &mut Stream) -> u32 {
    match stream.below(6) {
        0 => 1,
        1 => 2,
        2 => 1 + stream.below(1000) as u32,
        3 if chance(stream, 0.2) => 1_000_000,
        _ => 1 + stream.below(20) as u32,
    }
}

/// Takes up to so many of what is left.
fn take(stream: &mut Stream, left: &mut u32, most: u32) -> u32 {
    let taken = stream.below(1 + (*left).min(most) as usize) as u32;
    *left -= taken;
    taken
}

/// A state, one of thirty of which cannot be.
pub(crate) fn state(stream: &mut Stream) -> Value {
    let executors = one(stream, &[1, 2, 3, 10, 10, 10, 64, 1000, 1 << 20]);
    let time_ms = one(stream, &[0.0, 1.0, 99_999.5, 100_000.0, 1e6, 123_456_789.125, 1e12]);
    let num_jobs = one(stream, &[1, 2, 2, 3, 3, 3, 5, 5, 8, 8, 8, 20, 20, 40, 100]);
    let mut left = executors;
    let mut arrivals: Vec<f64> = (0..num_jobs).map(|_| time_ms * one(stream, &[0.0, 0.5, 0.999, 1.0])).collect();
    arrivals.iter_mut().for_each(|t| *t -= (*t).min(stream.uniform_in(0.0, 150_000.0)));
    arrivals.sort_by(f64::total_cmp);
    let (mut jobs, mut id) = (Vec::new(), 0);
    for &arrival_ms in &arrivals {
        id += 1 + stream.below(3) as u32;
        let stages = stages(stream, executors, &mut left, if num_jobs >= 20 { 6 } else { 16 });
        let mut job = json!({"id": id, "arrival_ms": arrival_ms, "stages": stages});
        for field in ["supply", "attached"] {
            if chance(stream, 0.4) {
                let most = executors as usize * one(stream, &[1, 1, 2]);
                job[field] = json!(stream.below(1 + most).min(1 << 20));
            }
        }
        jobs.push(job);
    }
    let mut state = json!({"time_ms": time_ms, "num_executors": executors, "jobs": jobs});
    offer(stream, &mut state, executors);
    if chance(stream, 0.3) {
        state["jobs_gone"] = json!(5);
        state["gone_arrivals_ms"] = json!([time_ms, time_ms / 2.0, (time_ms - 100_000.0).max(0.0)]);
    }
    if chance(stream, 0.2) {
        state["moving_elsewhere"] = json!(take(stream, &mut left, 5));
    }
    if chance(stream, 1.0 / 30.0) {
        spoil(stream, &mut state);
    }
    state
}

/// Puts executors on offer.
fn offer(stream: &mut Stream, state: &mut Value, executors: u32) {
    let most = if chance(stream, 0.005) { 1500 } else { 12 };
    state["offered"] = json!(1 + stream.below(executors.min(most) as usize));
    if chance(stream, 0.2) {
        state["again"] = json!(true);
    }
    let jobs = state["jobs"].as_array().map_or(&[][..], Vec::as_slice);
    if jobs.is_empty() {
        return;
    }
    let job = &jobs[stream.below(jobs.len())];
    let source = match stream.below(3) {
        0 => json!("common"),
        1 => json!({"job": job["id"]}),
        _ => json!({"stage": [job["id"], stream.below(job["stages"].as_array().map_or(1, Vec::len))]}),
    };
    state["source"] = source;
}

/// Stages of a job; numbers say nothing about who waits for whom.
fn stages(stream: &mut Stream, executors: u32, left: &mut u32, most: usize) -> Vec<Value> {
    let n = 1 + stream.below(most);
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, stream.below(i + 1));
    }
    let (shape, done) = (stream.below(4), stream.uniform());
    let mut stages = vec![Value::Null; n];
    for (place, &stage) in order.iter().enumerate() {
        let parents: Vec<usize> = match shape {
            0 => order[place.saturating_sub(1)..place].to_vec(),
            1 => Vec::new(),
            _ => order[..place].iter().copied().filter(|_| chance(stream, 2.0 / (1 + place) as f64)).collect(),
        };
        let tasks = tasks(stream);
        let most = tasks as usize / one(stream, &[1, 2, 1_000_000]);
        let completed = match chance(stream, done * done * (1.2 - place as f64 / n as f64)) {
            true => tasks,
            false => stream.below(1 + most) as u32,
        };
        let running = match chance(stream, 0.4) {
            true => take(stream, left, tasks - completed),
            false => 0,
        };
        let mut s = json!({"tasks": tasks, "rough_ms": time(stream), "parents": parents});
        s["completed"] = json!(completed);
        s["running"] = json!(running);
        if chance(stream, 0.2) {
            s["moving"] = json!(take(stream, left, 4));
        }
        if chance(stream, 0.2) {
            let most = one(stream, &[3, executors as usize, 1 << 20]);
            s["promised"] = json!(stream.below(1 + most));
        }
        if chance(stream, 0.5) {
            s["recent_ms"] = json!(time(stream));
        }
        if chance(stream, 0.1) {
            s["chosen"] = json!(true);
        }
        stages[stage] = s;
    }
    stages
}

/// Makes it one that cannot be.
fn spoil(stream: &mut Stream, state: &mut Value) {
    let stage = &mut state["jobs"][0]["stages"][0];
    match stream.below(14) {
        0 => stage["completed"] = json!(1_000_001),
        1 => stage["running"] = json!(-1),
        2 => stage["rough_ms"] = json!(-1.0),
        3 => stage["recent_ms"] = json!(2e15),
        4 => stage["parents"] = json!([0]),
        5 => stage["parents"] = json!([99]),
        6 => stage["tasks"] = json!(0),
        7 => stage["tasks"] = json!(2.5),
        8 => stage["colour"] = json!(1),
        9 => state["offered"] = json!((1 << 20) + 1),
        10 => state["source"] = json!({"job": 100_000}),
        11 => state["jobs"][0]["arrival_ms"] = json!(2e12),
        12 => state["jobs"][0]["id"] = json!(99_999),
        _ => state["num_executors"] = json!(0),
    }
}

/// What may change in a state, some of which cannot be.
pub(crate) fn change(state: &Value, stream: &mut Stream) -> Value {
    let mut change = json!({});
    let time_ms = state["time_ms"].as_f64().unwrap_or(0.0) + one(stream, &[0.0, 1.0, 250.5, 60_000.0]);
    if chance(stream, 0.7) {
        change["time_ms"] = json!(time_ms);
    }
    let none = Vec::new();
    let jobs = state["jobs"].as_array().unwrap_or(&none);
    let (mut gone, mut changed) = (Vec::new(), Vec::new());
    for job in jobs {
        if chance(stream, 0.1) {
            gone.push(job["id"].clone());
        } else if chance(stream, 0.4) {
            changed.push(change_of(job, stream));
        }
    }
    let executors = state["num_executors"].as_u64().unwrap_or(1) as u32;
    change["gone"] = json!(gone);
    change["jobs"] = json!(changed);
    if chance(stream, 0.4) {
        let last = jobs.last().and_then(|job| job["id"].as_u64()).unwrap_or(0);
        let stages = stages(stream, executors, &mut 1, 8);
        change["arrived"] = json!([{"id": last + 1, "arrival_ms": state["time_ms"], "stages": stages}]);
    }
    if chance(stream, 0.9) {
        let mut offered =
            json!({"jobs": changed.iter().map(|job| json!({"id": job["id"], "stages": [0]})).collect::<Vec<_>>()});
        offer(stream, &mut offered, executors);
        for field in ["offered", "again", "source"] {
            if let Some(value) = offered.get(field) {
                change[field] = value.clone();
            }
        }
    }
    change
}

fn change_of(job: &Value, stream: &mut Stream) -> Value {
    let mut stages = Vec::new();
    for (number, stage) in job["stages"].as_array().into_iter().flatten().enumerate() {
        if chance(stream, 0.5) {
            continue;
        }
        let count = |field: &str| stage[field].as_u64().unwrap_or(0) as usize;
        let mut s = Map::new();
        s.insert("stage".to_owned(), json!(number));
        if chance(stream, 0.5) {
            // What runs has ended, or some of it.
            let ended = stream.below(1 + count("running"));
            s.insert("completed".to_owned(), json!(count("completed") + ended));
            s.insert("running".to_owned(), json!(count("running") - ended));
        }
        if chance(stream, 0.5) {
            s.insert("promised".to_owned(), json!(0));
        }
        if chance(stream, 0.3) {
            s.insert("moving".to_owned(), json!(0));
        }
        if chance(stream, 0.3) {
            s.insert("recent_ms".to_owned(), json!(time(stream)));
        }
        if chance(stream, 0.1) {
            s.insert("chosen".to_owned(), json!(true));
        }
        stages.push(Value::Object(s));
    }
    let mut change = json!({"id": job["id"], "stages": stages});
    if chance(stream, 0.2) {
        change["supply"] = json!(stream.below(12));
    }
    if chance(stream, 0.2) {
        change["attached"] = json!(stream.below(12));
    }
    change
}
