//! Questions for the Decima network.

use super::{DecimaInput, Stream};

/// Jobs with up to `most` stages under shuffled labels, each pair joined with probability `density`.
pub(crate) fn observation(seed: u64, jobs: usize, most: usize, density: f64) -> DecimaInput {
    let mut stream = Stream::new(seed, "observation");
    let mut input = DecimaInput { num_executors: 50, committable: 50, ptr: vec![0], ..DecimaInput::default() };
    for _ in 0..jobs {
        let (from, n) = (input.remaining.len() as u32, 1 + stream.below(most) as u32);
        let mut label: Vec<u32> = (from..from + n).collect();
        for i in (1..n as usize).rev() {
            label.swap(i, stream.below(i + 1));
        }
        for (i, &u) in label.iter().enumerate() {
            for &c in &label[i + 1..] {
                if stream.uniform() < density {
                    input.edges.push([u, c]);
                }
            }
        }
        for _ in 0..n {
            input.remaining.push(stream.below(200) as u32);
            input.most_recent_duration.push(stream.uniform_in(100.0, 5000.0) as f32);
            input.stage_mask.push(stream.uniform() < 0.4);
        }
        input.ptr.push(from + n);
        input.supply.push(stream.below(60) as u32);
    }
    input.edges.sort_unstable();
    input.source_job = Some(stream.below(2 * jobs)).filter(|&j| j < jobs);
    input
}
