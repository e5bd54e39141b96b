//! The event queue against the standard library's heap: take the next event and schedule its successor.

use criterion::{Criterion, Throughput, criterion_group};
use sched_distill::{rng::Stream, simulation::EventQueue};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    hint::black_box,
};

criterion_group! {
    name = group;
    config = Criterion::default().sample_size(30);
    targets = hold
}

/// Events per iteration.
const EVENTS: u64 = 100_000;

/// Time in bits that are in the order of the times, order of scheduling, slot.
type Entry = Reverse<(u64, u64, u32)>;

fn hold(c: &mut Criterion) {
    let mut stream = Stream::new(1, "durations");
    let durations: Vec<f64> = (0..4096).map(|_| stream.exponential(1000.0)).collect();
    let duration = |event: u64| durations[event as usize % durations.len()];
    for slots in [10, 50, 1_000] {
        let mut group = c.benchmark_group(format!("queue/{slots} executors"));
        group.throughput(Throughput::Elements(EVENTS));
        group.bench_function("tournament", |b| {
            b.iter(|| {
                let mut queue = EventQueue::new(slots);
                (0..slots).for_each(|slot| queue.schedule(slot, duration(u64::from(slot))));
                for event in 0..EVENTS {
                    let (time, slot) = queue.pop().expect("one event per slot");
                    queue.schedule(slot, time + duration(event));
                }
                black_box(queue.next_time())
            });
        });
        let heap = || -> BinaryHeap<Entry> {
            (0..slots).map(|slot| Reverse((duration(u64::from(slot)).to_bits(), u64::from(slot), slot))).collect()
        };
        group.bench_function("binary heap, pop and push", |b| {
            b.iter(|| {
                let mut heap = heap();
                for event in 0..EVENTS {
                    let Reverse((time, _, slot)) = heap.pop().expect("one event per slot");
                    let end = f64::from_bits(time) + duration(event);
                    heap.push(Reverse((end.to_bits(), u64::from(slots) + event, slot)));
                }
                black_box(heap.peek().copied())
            });
        });
        group.bench_function("binary heap, replace the top", |b| {
            b.iter(|| {
                let mut heap = heap();
                for event in 0..EVENTS {
                    let mut top = heap.peek_mut().expect("one event per slot");
                    let Reverse((time, _, slot)) = *top;
                    let end = f64::from_bits(time) + duration(event);
                    *top = Reverse((end.to_bits(), u64::from(slots) + event, slot));
                    drop::<PeekMut<'_, Entry>>(top);
                }
                black_box(heap.peek().copied())
            });
        });
    }
}
