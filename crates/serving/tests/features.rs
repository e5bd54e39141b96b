//! What features say of a state made by hand, worked out by hand.

use sched_distill_core::scenario::Questions as _;
use sched_distill_serving::{
    Application, Decision, Law, NewTask, Server, ServerState,
    feature::{Extractor, feature_set},
    heuristic::DyBatch,
};

fn width(level: usize) -> usize {
    feature_set().levels[level].features.len()
}

/// Where a feature stands.
fn place(level: usize, name: &str) -> usize {
    feature_set().levels[level].features.iter().position(|feature| feature.name == name).expect(name)
}

/// Tasks of sizes 10, 30 and 10 wait of one application since 0, 2 and 6 ms, one of size 1 of another since 4 ms.
fn small() -> ServerState {
    let law = |alpha_ms: f64, beta_ms: f64| Law::Padded { alpha_ms, beta_ms };
    let a = Application { weight: 2.0, most: 4, ..Application::new("a", law(2.0, 0.1), 50.0) };
    let b = Application::new("b", law(4.0, 1.0), 30.0);
    let mut state = ServerState::new(Server { applications: vec![a, b], ..Server::default() }).unwrap();
    for (id, application, size, arrival_ms) in [(0, 0, 10, 0.0), (1, 0, 30, 2.0), (2, 1, 1, 4.0), (3, 0, 10, 6.0)] {
        state.add_task(NewTask { id, application, size, arrival_ms }).unwrap();
    }
    state
}

/// Compares features of candidates with what they are worked out to be; a number each.
fn says(state: &ServerState, level: usize, expected: &[(&str, &[f64])]) {
    let (mut extractor, mut x) = (Extractor::default(), Vec::new());
    let seen = state.view().unwrap();
    extractor.update(&seen);
    extractor.rows(&seen, &[0][..level], false, &mut x);
    for (name, values) in expected {
        let found: Vec<f64> = x.chunks(width(level)).map(|row| f64::from(row[place(level, name)])).collect();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
        let is_so = found.len() == values.len() && found.iter().zip(*values).all(near);
        assert!(is_so, "{name}: {found:?}, not {values:?}");
    }
}

#[test]
fn features_of_applications_are_as_described() {
    let mut state = small();
    state.ask(8.0).unwrap();
    let left = |ms: f64| (-ms / 500.0).exp2();
    let per_ms = |count: f64| count * std::f64::consts::LN_2 / 500.0;
    let (rate, other) = (per_ms(left(8.0) + left(6.0) + left(2.0)), per_ms(left(4.0)));
    let urgency = 1e3 * (2.0 / 3.0 + 0.2);
    says(
        &state,
        0,
        &[
            ("tasks", &[3.0, 1.0, 0.0]),
            ("tasks_rank", &[1.0, 0.0, 0.0]),
            ("tasks_ratio", &[2.0, 1.0, 0.0]),
            ("waited", &[8.0, 4.0, 0.0]),
            ("waited_ratio", &[2.0, 1.0, 0.0]),
            ("solo", &[3.0, 5.0, 0.0]),
            ("slowdown", &[11.0 / 3.0, 1.8, 0.0]),
            ("slack", &[39.0, 21.0, 0.0]),
            ("filling", &[0.75, 1.0 / 16.0, 0.0]),
            ("is_full", &[0.0, 0.0, 0.0]),
            ("is_timed_out", &[1.0, 0.0, 0.0]),
            // Two of size 10 take 4 ms, which in full batches would be 3; with the third they take 11, instead of 6.5.
            ("batch", &[2.0, 1.0, 0.0]),
            ("batch_time", &[4.0, 5.0, 0.0]),
            ("task_time", &[2.0, 5.0, 0.0]),
            ("efficiency", &[0.75, 0.25, 0.0]),
            ("relief", &[1e6 / 6.0, 1e6 / 25.0, 0.0]),
            // They have waited for 8 and 4 ms.
            ("merit", &[500.0 * 0.75_f64.powi(4) * 3.0, 200.0 * 0.25_f64.powi(4) * 5.0_f64.sqrt(), 0.0]),
            ("merit_rank", &[1.0, 0.0, 0.0]),
            ("urgency", &[urgency, 200.0, 0.0]),
            ("used", &[0.0, 0.0, 0.0]),
            ("used_share", &[0.0, 0.0, 0.0]),
            ("turn", &[0.0, 1.0, 0.0]),
            ("arrivals", &[1e3 * rate, 1e3 * other, 0.0]),
            ("to_full", &[1.0 / rate, 15.0 / other, 0.0]),
            ("waiting", &[4.0; 3]),
            ("asking", &[2.0; 3]),
            ("all_urgency", &[urgency + 200.0; 3]),
            ("idle", &[1.0; 3]),
            ("next_end", &[0.0; 3]),
        ],
    );
    // A batch of 3 ms that ends 1 ms late is told of as what it took.
    for decision in [Decision::Serve { application: 0 }, Decision::Add { task: 0 }, Decision::Close] {
        state.answer(decision).unwrap();
    }
    state.set_time(12.0).unwrap();
    state.set_done(0).unwrap();
    state.ask(12.0).unwrap();
    let used = (3.0 * left(4.0) + 1.0) / 2.0;
    says(
        &state,
        0,
        &[
            ("used", &[used, 0.0, 0.0]),
            ("used_rank", &[1.0, 0.0, 0.0]),
            ("used_share", &[1.0, 0.0, 0.0]),
            ("turn", &[1.0, 0.0, 0.0]),
            ("is_timed_out", &[1.0, 1.0, 0.0]),
        ],
    );
    state.answer(Decision::Serve { application: 0 }).unwrap();
    says(&state, 1, &[("passed", &[1.0, 1.0])]);
}

#[test]
fn features_of_tasks_are_as_described() {
    let mut state = small();
    state.ask(8.0).unwrap();
    state.answer(Decision::Serve { application: 0 }).unwrap();
    let all = 2.0 / 3.0 + 0.4;
    says(
        &state,
        1,
        &[
            ("size", &[10.0, 30.0]),
            ("alike", &[2.0, 1.0]),
            ("difference", &[10.0, 30.0]),
            ("is_larger", &[1.0, 1.0]),
            ("added", &[3.0, 5.0]),
            ("task_time_change", &[0.0, 0.0]),
            ("is_best", &[1.0, 0.0]),
            ("pays", &[1.0, 1.0]),
            ("delay", &[0.0, 0.0]),
            ("all_delay", &[3.0 * (all - 1.0 / 3.0), 5.0 * (all - 0.2)]),
            ("makes_late", &[0.0, 0.0]),
            ("batch_time", &[0.0, 0.0]),
            ("batch_merit", &[0.0, 0.0]),
        ],
    );
    let mut late = small();
    for (state, time_ms) in [(&mut state, 8.0), (&mut late, 46.0)] {
        state.ask(time_ms).unwrap();
        state.answer(Decision::Serve { application: 0 }).unwrap();
        state.answer(Decision::Add { task: 0 }).unwrap();
    }
    let (all, own) = (1.0 / 3.0 + 0.4, 1.0 / 3.0);
    says(
        &state,
        1,
        &[
            ("alike", &[1.0, 1.0, 0.0]),
            ("waited", &[2.0, 6.0, 0.0]),
            ("waited_rank", &[0.0, 1.0, 0.0]),
            ("is_oldest", &[0.0, 1.0, 0.0]),
            ("solo", &[3.0, 5.0, 0.0]),
            ("slowdown", &[5.0 / 3.0, 11.0 / 5.0, 0.0]),
            ("passed", &[0.0, 0.0, 0.0]),
            ("difference", &[0.0, 20.0, 0.0]),
            ("is_larger", &[0.0, 1.0, 0.0]),
            ("added", &[1.0, 5.0, 0.0]),
            ("saved", &[2.0, 0.0, 0.0]),
            ("task_time_change", &[-1.0, 1.0, 0.0]),
            ("is_best", &[1.0, 0.0, 0.0]),
            ("pays", &[1.0, 0.0, 0.0]),
            ("relief", &[1e6 / 3.0, 4e4, 0.0]),
            ("delay", &[own, 5.0 * own, 0.0]),
            ("all_delay", &[all, 5.0 * (own + all - 0.2), 0.0]),
            ("slack", &[44.0, 36.0, 0.0]),
            ("makes_late", &[0.0, 0.0, 0.0]),
            ("batch", &[1.0; 3]),
            ("filling", &[0.25; 3]),
            ("batch_time", &[3.0; 3]),
            ("batch_urgency", &[1e3 * own; 3]),
            // One of 10 in 3 ms against two in 4, in place of 1.5 and 3.
            ("batch_merit", &[(0.5_f64.powi(4) / 3.0) / (0.75_f64.powi(4) / 2.0); 3]),
            ("tasks", &[2.0; 3]),
            ("waiting", &[3.0; 3]),
            ("others", &[1.0; 3]),
            ("all_urgency", &[1e3 * all; 3]),
        ],
    );
    // The first is within its objective by 1 ms yet, which the one of its size takes up and the larger one exceeds.
    says(&late, 1, &[("makes_late", &[0.0, 1.0, 0.0]), ("slack", &[50.0 - 40.0 - 4.0, 50.0 - 44.0 - 8.0, 0.0])]);
}

/// `pays` says what DyBatch asks, also where nothing is won or lost: without α no task saves time or costs any.
#[test]
fn what_pays_is_what_dybatch_adds() {
    let mut others = Vec::new();
    for size in 1..60 {
        let law = Law::Padded { alpha_ms: 0.0, beta_ms: 0.03 };
        let server = Server { applications: vec![Application::new("a", law, 50.0)], ..Server::default() };
        let mut state = ServerState::new(server).unwrap();
        (0..3).for_each(|id| assert!(state.add_task(NewTask { id, application: 0, size, arrival_ms: 0.0 }).unwrap()));
        state.ask(0.0).unwrap();
        state.answer(Decision::Serve { application: 0 }).unwrap();
        state.answer(Decision::Add { task: 0 }).unwrap();
        let (mut extractor, mut x, seen) = (Extractor::default(), Vec::new(), state.view().unwrap());
        extractor.update(&seen);
        extractor.rows(&seen, &[0], false, &mut x);
        let adds = DyBatch::default().decide(&seen) != Decision::Close;
        if (x[place(1, "pays")] == 1.0) != adds {
            others.push(size);
        }
    }
    assert_eq!(others, Vec::<u32>::new(), "sizes of which they say otherwise");
}
