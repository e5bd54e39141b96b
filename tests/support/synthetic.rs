//! Synthetic distillation data: rows are candidates of decisions, like those of a scheduler's trace, in any number.
//!
//! Half of the 24 features are counts, ranks and flags with many ties, the other half spreads over several orders of
//! magnitude; the last four are the same for all candidates of a decision. Values are multiples of 2⁻¹⁰, so that neighbours
//! never lie closer than the 1e-7 below which scikit-learn does not tell values apart. Classes and targets come from a
//! random tree of depth 10 and noise. Only exact arithmetic is used, so every machine makes the same bytes.

use sched_distill::rng::Stream;

/// Features per row.
pub(crate) const WIDTH: usize = 24;
/// Number of classes.
pub(crate) const CLASSES: usize = 8;

/// Rows to learn from.
pub(crate) struct Synthetic {
    /// Shape `(rows, WIDTH)`, row-major.
    pub(crate) x: Vec<f32>,
    /// In `0..CLASSES`, shape `(rows,)`.
    pub(crate) class: Vec<u32>,
    /// Regression target, shape `(rows,)`.
    pub(crate) y: Vec<f64>,
    /// Right-skewed positive weights, shape `(rows,)`.
    pub(crate) weight: Vec<f64>,
}

/// An inner node sends rows left if `x[feature] <= threshold`; a leaf has its class and value.
enum Teacher {
    Split(usize, f32, Box<[Teacher; 2]>),
    Leaf(u32, f64),
}

fn round(value: f64) -> f32 {
    ((value * 1024.0).floor() / 1024.0) as f32
}

/// A heavy-tailed positive number, at most some 1000 times `scale`.
fn heavy(stream: &mut Stream, scale: f64) -> f64 {
    let u = stream.uniform();
    scale * (1.0 - u) / (u + 0.001)
}

fn count(stream: &mut Stream, below: u32) -> f64 {
    // The product of two draws makes small counts common.
    (f64::from(below) * stream.uniform() * stream.uniform()).floor()
}

fn features(stream: &mut Stream, cluster: &[f64; 4]) -> [f32; WIDTH] {
    let done = if stream.uniform() < 0.45 { 0.0 } else { (stream.uniform() * 101.0).floor() / 128.0 };
    let (total, task, tasks) = (heavy(stream, 40.0), heavy(stream, 0.5), 1.0 + count(stream, 700));
    let s = stream;
    let row = [
        heavy(s, 10.0),
        total * (1.0 - done),
        total,
        count(s, 51),
        1.0 + count(s, 20),
        (s.uniform() * cluster[1]).floor(),
        (s.uniform() * cluster[1]).floor(),
        done,
        task,
        tasks,
        task * tasks / 16.0,
        count(s, 9),
        count(s, 6),
        count(s, 5),
        f64::from(u8::from(s.uniform() < 0.4)),
        heavy(s, 5.0) + task,
        heavy(s, 2.0),
        (s.uniform() * 96.0).floor() / 96.0,
        (s.uniform() * 4.0).floor() / 4.0,
        f64::from(u8::from(s.uniform() < 0.01)),
        cluster[0],
        cluster[1],
        cluster[2],
        cluster[3],
    ];
    row.map(round)
}

fn grow(stream: &mut Stream, x: &[f32], rows: &[usize], depth: i32, logits: [f64; CLASSES], value: f64) -> Teacher {
    if depth < 10 && rows.len() >= 64 {
        for _ in 0..20 {
            let feature = (stream.uniform() * stream.uniform() * WIDTH as f64) as usize;
            let mut column: Vec<f32> = rows.iter().map(|&r| x[r * WIDTH + feature]).collect();
            column.sort_unstable_by(f32::total_cmp);
            let threshold = column[((0.25 + 0.5 * stream.uniform()) * rows.len() as f64) as usize];
            let (left, right): (Vec<usize>, Vec<usize>) =
                rows.iter().partition(|&&r| x[r * WIDTH + feature] <= threshold);
            if left.len().min(right.len()) >= 32 {
                // Steps shrink with depth: the upper splits carry most of the signal, as they do in a real policy.
                let size = 0.75f64.powi(depth);
                let step: [f64; CLASSES] = std::array::from_fn(|_| size * (stream.uniform() - 0.5) * 6.0);
                let shift = size * (stream.uniform() - 0.5) * 9.0;
                let logit = |sign: f64| std::array::from_fn(|k| logits[k] + sign * step[k]);
                return Teacher::Split(
                    feature,
                    threshold,
                    Box::new([
                        grow(stream, x, &left, depth + 1, logit(1.0), value + shift),
                        grow(stream, x, &right, depth + 1, logit(-1.0), value - shift),
                    ]),
                );
            }
        }
    }
    let best = (0..CLASSES).fold(0, |best, k| if logits[k] > logits[best] { k } else { best });
    Teacher::Leaf(best as u32, value)
}

fn ask(mut teacher: &Teacher, row: &[f32]) -> (u32, f64) {
    loop {
        match teacher {
            Teacher::Split(feature, threshold, below) => teacher = &below[usize::from(row[*feature] > *threshold)],
            &Teacher::Leaf(class, value) => return (class, value),
        }
    }
}

/// The first `rows` rows of a seed; the teacher is the same for every seed.
pub(crate) fn synthetic(rows: usize, seed: u64) -> Synthetic {
    let mut s = Stream::new(seed, "synthetic features");
    let mut x: Vec<f32> = Vec::with_capacity(rows * WIDTH);
    // The teacher is grown on rows of its own, so that more rows do not change the ones before.
    let fill = |x: &mut Vec<f32>, rows: usize, s: &mut Stream| {
        while x.len() < rows * WIDTH {
            let cluster = [count(s, 51), 1.0 + count(s, 60), (s.uniform() * 4096.0).floor() / 4096.0, heavy(s, 100.0)];
            for _ in 0..4 + count(s, 37) as usize {
                x.extend(features(s, &cluster));
            }
        }
        x.truncate(rows * WIDTH);
    };
    let mut own = Vec::new();
    let mut t = Stream::new(0, "synthetic teacher");
    fill(&mut own, 50_000, &mut t);
    let teacher = grow(&mut t, &own, &(0..50_000).collect::<Vec<_>>(), 0, [0.0; CLASSES], 0.0);
    fill(&mut x, rows, &mut s);
    let mut noise = Stream::new(seed, "synthetic targets");
    let (mut class, mut y, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    for row in x.chunks_exact(WIDTH) {
        let (k, value) = ask(&teacher, row);
        let [lost, other, a, b, c, d] = std::array::from_fn(|_| noise.uniform());
        class.push(if lost < 0.05 { (other * CLASSES as f64) as u32 } else { k });
        y.push(value + f64::from(row[16]) / (f64::from(row[16]) + 4.0) - 0.02 * f64::from(row[20]) + a + b - 1.0);
        weight.push((4096.0 * c * d).ceil() / 1024.0 + 1.0 / 64.0);
    }
    Synthetic { x, class, y, weight }
}
