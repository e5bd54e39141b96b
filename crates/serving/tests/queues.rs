//! Queues of states made by hand: who comes, goes and is refused, and in what order tasks join.

use sched_distill_core::scenario::State as _;
use sched_distill_serving::{Application, Decision, DecisionError, Law, NewTask, Question, Server, ServerState};

/// A server of one application.
fn server(most: u32, queue: u32) -> ServerState {
    let law = Law::Padded { alpha_ms: 3.0, beta_ms: 0.1 };
    let application = Application { most, queue, ..Application::new("a", law, 50.0) };
    ServerState::new(Server { applications: vec![application], ..Server::default() }).unwrap()
}

/// A task of a size comes; whether it may wait.
fn comes(state: &mut ServerState, id: u32, size: u32) -> bool {
    state.add_task(NewTask { id, application: 0, size, arrival_ms: f64::from(id) }).unwrap()
}

const SERVE: Decision = Decision::Serve { application: 0 };

/// Waiting tasks by size: how many, and the oldest.
fn groups(state: &ServerState) -> Vec<(u32, u32, u32)> {
    state.view().unwrap().queue(0).groups().map(|group| (group.size, group.count, group.task)).collect()
}

/// Has the first or the last candidate join again and again; the tasks of the batch.
fn forms(state: &mut ServerState, time_ms: f64, smallest: bool) -> Vec<u32> {
    state.ask(time_ms).unwrap();
    state.answer(SERVE).unwrap();
    while let Some(seen) = state.view().filter(|seen| seen.question() == Question::Form(0)) {
        let next = if smallest { seen.groups().next() } else { seen.groups().last() };
        let decision = next.map_or(Decision::Close, |group| Decision::Add { task: group.task });
        state.answer(decision).unwrap();
    }
    state.running(0).unwrap().tasks.to_vec()
}

#[test]
fn a_task_may_go_from_anywhere() {
    let sizes = [10, 20, 10, 20, 10, 30];
    for gone in 0..sizes.len() as u32 {
        let mut state = server(16, 16);
        (0..).zip(sizes).for_each(|(id, size)| assert!(comes(&mut state, id, size)));
        state.remove_task(gone).unwrap();
        // Those that come later are the last of their sizes.
        assert!(comes(&mut state, 7, 20) && comes(&mut state, 8, 10));
        let mut never = server(16, 16);
        for (id, size) in (0..).zip(sizes).chain([(7, 20), (8, 10)]) {
            assert!(id == gone || comes(&mut never, id, size));
        }
        for state in [&mut state, &mut never] {
            state.ask(10.0).unwrap();
        }
        assert_eq!(groups(&state), groups(&never));
        let waiting = |state: &ServerState| serde_json::to_value(state).unwrap()["waiting"].clone();
        assert_eq!(waiting(&state), waiting(&never));
        let oldest = state.view().unwrap().queue(0).oldest().unwrap();
        assert_eq!(oldest.task, u32::from(gone == 0));
        let by_size = |size: u32| (0..).zip(sizes).chain([(7, 20), (8, 10)]).filter(move |(_, of)| *of == size);
        let expected: Vec<u32> =
            [10, 20, 30].into_iter().flat_map(by_size).map(|(id, _)| id).filter(|id| *id != gone).collect();
        for smallest in [true, false] {
            let mut joined = forms(&mut state.clone(), 10.0, smallest);
            assert_eq!(joined, forms(&mut never.clone(), 10.0, smallest));
            assert!(!smallest || joined == expected, "{joined:?}");
            joined.sort_unstable();
            assert_eq!(joined.len(), 7);
        }
        let message = state.remove_task(gone).unwrap_err().to_string();
        assert_eq!(message, format!("task {gone}: does not wait: it is unknown, in a batch, or answered"));
    }
    // The last one of all goes: nothing is asked.
    let mut state = server(16, 16);
    assert!(comes(&mut state, 0, 10));
    state.remove_task(0).unwrap();
    assert!(state.ask(1.0).unwrap().is_none() && state.ask_again_ms().is_none());
}

#[test]
fn who_finds_the_queue_full_is_refused_and_counted() {
    let mut state = server(4, 2);
    assert_eq!([0, 1, 2].map(|id| comes(&mut state, id, 10)), [true, true, false]);
    let seen = state.ask(2.0).unwrap().unwrap();
    assert_eq!((seen.waiting(), seen.queue(0).count()), (2, 2));
    let left = |ms: f64| (-ms / 500.0).exp2();
    let rate = (left(2.0) + left(1.0) + 1.0) * std::f64::consts::LN_2 / 500.0;
    assert!((seen.queue(0).rate() - rate).abs() < 1e-12, "a refused task is asked, too");
    assert!(state.remove_task(2).is_err());
    state.ask(2.0).unwrap();
    // A task of a batch that is being formed does not wait: there is room, but to come begins the batch.
    state.answer(SERVE).unwrap();
    state.answer(Decision::Add { task: 0 }).unwrap();
    assert_eq!([3, 4].map(|id| comes(&mut state, id, 10)), [true, false]);
    assert_eq!(state.running(0).map(|running| running.tasks.to_vec()), Some(vec![0]));
    assert!(state.running(1).is_none());
}

#[test]
fn places_are_used_again() {
    let (mut state, mut extents) = (server(2, 16), Vec::new());
    let mut id = 0;
    for round in 0..50 {
        for size in [10, 20, 10] {
            assert!(comes(&mut state, id, size));
            id += 1;
        }
        state.remove_task(id - 2).unwrap();
        assert_eq!(forms(&mut state, f64::from(id), true), [id - 3, id - 1], "round {round}");
        state.set_done(0).unwrap();
        extents.push(state.extent());
    }
    assert!(extents.iter().all(|extent| *extent == extents[0]), "{extents:?}");
    // One that is refused leaves no place behind either.
    let mut state = server(2, 1);
    let kept: Vec<bool> = (0..20).map(|id| comes(&mut state, id, 10)).collect();
    assert_eq!((kept.iter().filter(|kept| **kept).count(), state.extent()), (1, server(2, 1).extent() + 2));
}

#[test]
fn who_has_the_place_of_another_is_not_taken_for_it() {
    let mut state = server(4, 16);
    (0..4).for_each(|id| assert!(comes(&mut state, id, 10 + id)));
    state.remove_task(1).unwrap();
    state.remove_task(2).unwrap();
    // They have the places 2 and 1, in this order.
    assert!(comes(&mut state, 5, 15) && comes(&mut state, 6, 13));
    state.ask(10.0).unwrap();
    state.answer(SERVE).unwrap();
    for task in [1, 2, 4, 6, 7] {
        let message = state.answer(Decision::Add { task }).unwrap_err().to_string();
        assert_eq!(message, format!("at 10 ms: task {task} cannot be added; that can be: 0, 3, 5"));
    }
    for task in [5, 3, 6, 0] {
        state.answer(Decision::Add { task }).unwrap();
    }
    assert_eq!(state.running(0).unwrap().tasks, [5, 3, 6, 0]);
    assert!(matches!(state.answer(Decision::WAIT), Err(DecisionError::Ended)));
    state.set_done(0).unwrap();
    // Now all places are free; the numbers of tasks and places cross.
    (7..11).for_each(|id| assert!(comes(&mut state, id, 10 + id % 2)));
    assert_eq!(forms(&mut state, 20.0, true), [8, 10, 7, 9]);
}
