//! The forward pass of Decima: scores of stages and of amounts of executors.
//!
//! The network embeds every stage from the stages below it, sums these up to job and cluster embeddings, and scores the
//! schedulable stages and, for the job of the chosen one, how many executors it gets. The three places where it differs
//! from what one would write down from the paper are kept: without any edge the embedding skips a perceptron, leaves have
//! no residual, and a step of message passing uses the edges among all of its nodes (see [`graph`]).
//!
//! Results equal PyTorch's to rounding (2e-5 relative) and are the same bits on every machine. Turning scores into a
//! decision, sampling included, is left to the caller.

mod graph;
mod input;
mod network;
#[cfg(test)]
mod plain;

pub use input::DecimaInput;
pub use network::DecimaWeights;

use super::{
    NeuralError,
    dense::{Identity, Kernel},
};
use graph::Graph;
use network::{FEATURES, HIDDEN, Scratch, WIDTH, room};
use std::sync::Arc;

/// Inputs of the stage head that differ between stages; the cluster embedding comes after them.
const STAGE_INPUTS: usize = FEATURES + 2 * WIDTH;
/// Features of a job: the first of its nodes' features.
const JOB_FEATURES: usize = 3;
/// Inputs of the amount head that all amounts share; the amount comes after them.
const AMOUNT_INPUTS: usize = JOB_FEATURES + 2 * WIDTH;

/// Evaluates the Decima network on one observation at a time; allocates nothing once its buffers have grown.
///
/// ```no_run
/// use sched_distill::policy::neural::{Decima, DecimaInput, DecimaWeights, Tensors};
/// use std::sync::Arc;
///
/// let weights = DecimaWeights::from_tensors(&Tensors::load("model.pt")?, "model.pt")?;
/// let mut decima = Decima::new(Arc::new(weights));
/// let mut input = DecimaInput::default();
/// input.clear(); // ... and fill it from the cluster's state
/// decima.embed(&input)?;
/// let stages = decima.stage_scores().len();
/// assert_eq!(stages, decima.schedulable().len());
/// # Ok::<(), sched_distill::policy::neural::NeuralError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decima {
    weights: Arc<DecimaWeights>,
    kernel: Kernel,
    num_executors: u32,
    first_node: Vec<u32>,
    job_of: Vec<u32>,
    caps: Vec<u32>,
    schedulable: Vec<u32>,
    x: Vec<f32>,
    h0: Vec<f32>,
    h: Vec<f32>,
    h_dag: Vec<f32>,
    h_glob: [f32; WIDTH],
    graph: Graph,
    rows: Vec<f32>,
    out: Vec<f32>,
    parents: Vec<u32>,
    scratch: Scratch,
}

impl Decima {
    /// An evaluator of these weights that has not seen an observation yet: no jobs, no stages.
    #[must_use]
    pub fn new(weights: Arc<DecimaWeights>) -> Self {
        Self {
            weights,
            kernel: Kernel::detect(),
            num_executors: 1,
            first_node: Vec::new(),
            job_of: Vec::new(),
            caps: Vec::new(),
            schedulable: Vec::new(),
            x: Vec::new(),
            h0: Vec::new(),
            h: Vec::new(),
            h_dag: Vec::new(),
            h_glob: [0.0; WIDTH],
            graph: Graph::default(),
            rows: Vec::new(),
            out: Vec::new(),
            parents: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Takes in an observation and computes all embeddings. An observation without jobs is fine.
    ///
    /// # Errors
    ///
    /// [`NeuralError::Input`] if the observation contradicts itself (see [`DecimaInput::check`]), its edges are not a
    /// sorted DAG, or its numbers are so large that an embedding overflows. The evaluator then stands as after
    /// [`Decima::new`] and may be used again.
    pub fn embed(&mut self, input: &DecimaInput) -> Result<(), NeuralError> {
        self.forget();
        input.check()?;
        self.graph.build(input.remaining.len(), &input.edges)?;
        self.num_executors = input.num_executors;
        input.caps(&mut self.caps);
        input.features(&self.caps, &mut self.x);
        for (j, range) in input.ptr.windows(2).enumerate() {
            self.first_node.push(range[0]);
            self.job_of.extend((range[0]..range[1]).map(|_| j as u32));
        }
        let schedulable = input.stage_mask.iter().enumerate().filter(|&(_, &on)| on);
        self.schedulable.extend(schedulable.map(|(v, _)| v as u32));
        self.embed_nodes();
        self.embed_jobs();
        if let Some(i) = self.h_dag.iter().chain(&self.h_glob).position(|v| !v.is_finite()) {
            let at = if i < self.h_dag.len() { format!("job {}", i / WIDTH) } else { "the cluster".to_owned() };
            self.forget();
            let reason = format!("the embedding of {at} is not finite; task counts or durations are too large");
            return Err(NeuralError::Input { reason });
        }
        Ok(())
    }

    /// Features, shape `(nodes, 5)`, row-major.
    #[must_use]
    pub fn x(&self) -> &[f32] {
        &self.x
    }

    /// Node embeddings, shape `(nodes, 16)`, row-major.
    #[must_use]
    pub fn h_node(&self) -> &[f32] {
        &self.h
    }

    /// Job embeddings, shape `(jobs, 16)`, row-major.
    #[must_use]
    pub fn h_dag(&self) -> &[f32] {
        &self.h_dag
    }

    /// Embedding of the whole cluster, shape `(16,)`.
    #[must_use]
    pub fn h_glob(&self) -> &[f32] {
        &self.h_glob
    }

    /// Largest number of executors that each job may be given, shape `(jobs,)`; 0 means none.
    #[must_use]
    pub fn caps(&self) -> &[u32] {
        &self.caps
    }

    /// The schedulable nodes, ascending.
    #[must_use]
    pub fn schedulable(&self) -> &[u32] {
        &self.schedulable
    }

    /// Scores (logits) of the schedulable nodes, in the order of [`Decima::schedulable`].
    pub fn stage_scores(&mut self) -> &[f32] {
        let head = &self.weights.stage;
        let rows = room(&mut self.rows, self.schedulable.len() * STAGE_INPUTS);
        for (row, &v) in rows.chunks_exact_mut(STAGE_INPUTS).zip(&self.schedulable) {
            let (v, j) = (v as usize, self.job_of[v as usize] as usize);
            row[..FEATURES].copy_from_slice(&self.x[v * FEATURES..][..FEATURES]);
            row[FEATURES..FEATURES + WIDTH].copy_from_slice(&self.h[v * WIDTH..][..WIDTH]);
            row[FEATURES + WIDTH..].copy_from_slice(&self.h_dag[j * WIDTH..][..WIDTH]);
        }
        let mut base = [0.0; HIDDEN];
        let first = &head.hidden[0];
        let shared = first.part(STAGE_INPUTS..STAGE_INPUTS + WIDTH, first.bias());
        self.kernel.run::<Identity>(shared, &self.h_glob, &mut base);
        let out = room(&mut self.out, self.schedulable.len());
        head.run(self.kernel, 0..STAGE_INPUTS, &base, rows, &mut self.scratch, out);
        out
    }

    /// Scores (logits) of the executor counts of a job; entry `k < caps()[job]` stands for `k + 1` executors.
    ///
    /// # Panics
    ///
    /// If `job` is not an active job of the observation.
    pub fn amount_scores(&mut self, job: usize) -> &[f32] {
        let (head, first_node, cap) = (&self.weights.amount, self.first_node[job] as usize, self.caps[job]);
        let mut shared = [0.0; AMOUNT_INPUTS];
        shared[..JOB_FEATURES].copy_from_slice(&self.x[first_node * FEATURES..][..JOB_FEATURES]);
        shared[JOB_FEATURES..JOB_FEATURES + WIDTH].copy_from_slice(&self.h_dag[job * WIDTH..][..WIDTH]);
        shared[JOB_FEATURES + WIDTH..].copy_from_slice(&self.h_glob);
        let mut base = [0.0; HIDDEN];
        let first = &head.hidden[0];
        self.kernel.run::<Identity>(first.part(0..AMOUNT_INPUTS, first.bias()), &shared, &mut base);
        self.rows.clear();
        self.rows.extend((0..cap).map(|k| k as f32 / self.num_executors as f32));
        let out = room(&mut self.out, cap as usize);
        head.run(self.kernel, AMOUNT_INPUTS..AMOUNT_INPUTS + 1, &base, &self.rows, &mut self.scratch, out);
        out
    }

    fn forget(&mut self) {
        self.first_node.clear();
        self.job_of.clear();
        self.caps.clear();
        self.schedulable.clear();
        self.x.clear();
        self.h.clear();
        self.h_dag.clear();
        self.h_glob = [0.0; WIDTH];
    }

    fn embed_nodes(&mut self) {
        let (weights, kernel, graph, scratch) = (&*self.weights, self.kernel, &mut self.graph, &mut self.scratch);
        let n = self.job_of.len();
        let h0 = room(&mut self.h0, n * WIDTH);
        weights.prep.run(kernel, &self.x, scratch, h0);
        self.h.extend_from_slice(h0);
        if graph.steps() == 0 {
            return;
        }
        let h = &mut self.h[..];
        let row = |v: u32| v as usize * WIDTH..(v as usize + 1) * WIDTH;

        let leaves = &mut self.parents;
        leaves.clear();
        leaves.extend((0..n as u32).filter(|&v| graph.children(v).is_empty()));
        self.rows.clear();
        for &v in &*leaves {
            self.rows.extend_from_slice(&h0[row(v)]);
        }
        let out = room(&mut self.out, self.rows.len());
        weights.update.run(kernel, &self.rows, scratch, out);
        for (&v, new) in leaves.iter().zip(out.chunks_exact(WIDTH)) {
            h[row(v)].copy_from_slice(new);
        }

        for k in (0..graph.steps()).rev() {
            graph.enter(k);
            self.rows.clear();
            for &c in &graph.members[graph.parents..] {
                self.rows.extend_from_slice(&h[row(c)]);
            }
            let messages = room(&mut self.out, self.rows.len());
            weights.msg.run(kernel, &self.rows, scratch, messages);

            self.parents.clear();
            self.rows.clear();
            for &u in &graph.members {
                let mut children = graph.inner_children(u).peekable();
                if children.peek().is_none() {
                    continue;
                }
                let mut sum = [0.0; WIDTH];
                for i in children {
                    add(&mut sum, &messages[i * WIDTH..]);
                }
                self.parents.push(u);
                self.rows.extend_from_slice(&sum);
            }
            let out = room(&mut self.out, self.rows.len());
            weights.update.run(kernel, &self.rows, scratch, out);
            for (&u, new) in self.parents.iter().zip(out.chunks_exact(WIDTH)) {
                h[row(u)].copy_from_slice(&h0[row(u)]);
                add(&mut h[row(u)], new);
            }
        }
    }

    fn embed_jobs(&mut self) {
        const INPUTS: usize = FEATURES + WIDTH;
        let (weights, kernel, scratch) = (&*self.weights, self.kernel, &mut self.scratch);
        self.rows.clear();
        for (x, h) in self.x.chunks_exact(FEATURES).zip(self.h.chunks_exact(WIDTH)) {
            self.rows.extend_from_slice(x);
            self.rows.extend_from_slice(h);
        }
        debug_assert_eq!(self.rows.len(), self.job_of.len() * INPUTS);
        let out = room(&mut self.out, self.h.len());
        weights.dag.run(kernel, &self.rows, scratch, out);
        self.h_dag.resize(self.caps.len() * WIDTH, 0.0);
        for (&j, out) in self.job_of.iter().zip(out.chunks_exact(WIDTH)) {
            add(&mut self.h_dag[j as usize * WIDTH..][..WIDTH], out);
        }
        let out = room(&mut self.out, self.h_dag.len());
        weights.global.run(kernel, &self.h_dag, scratch, out);
        for out in out.chunks_exact(WIDTH) {
            add(&mut self.h_glob, out);
        }
    }
}

/// Adds the first 16 numbers.
fn add(sum: &mut [f32], values: &[f32]) {
    for (s, v) in sum.iter_mut().zip(&values[..WIDTH]) {
        *s += v;
    }
}

#[cfg(test)]
mod tests {
    use super::{
        network::tests::random,
        plain::{Plain, Rows, sum, wide},
        *,
    };
    use crate::{policy::neural::Tensors, rng::Stream};

    /// Largest `|a - b| / (1 + |b|)`.
    fn deviation(a: &[f32], b: &[f64]) -> f64 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(&a, b)| (f64::from(a) - b).abs() / (1.0 + b.abs())).fold(0.0, f64::max)
    }

    /// Jobs with up to `most` stages under shuffled labels, each pair joined with probability `density`.
    fn observation(seed: u64, jobs: usize, most: usize, density: f64) -> DecimaInput {
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

    fn evaluator(tensors: &Tensors) -> Result<Decima, NeuralError> {
        Ok(Decima::new(Arc::new(DecimaWeights::from_tensors(tensors, "random")?)))
    }

    #[test]
    fn all_outputs_equal_the_plain_network_on_random_dags() -> Result<(), NeuralError> {
        let tensors = random(3);
        let (mut decima, plain) = (evaluator(&tensors)?, Plain(&tensors));
        let (mut worst, mut textbook) = (0.0f64, 0.0f64);
        for seed in 0..60 {
            let input = observation(seed, 1 + seed as usize % 5, 9, [0.0, 0.2, 0.5, 0.9][seed as usize % 4]);
            decima.embed(&input)?;
            let x = wide(&decima.x, FEATURES);
            let h = plain.nodes(&x, &input.edges, true);
            worst = worst.max(deviation(&decima.h, &h.concat()));
            textbook = textbook.max(deviation(&decima.h, &plain.nodes(&x, &input.edges, false).concat()));

            let per_node: Rows =
                x.iter().zip(&h).map(|(x, h)| plain.leaky("dag_encoder.mlp", &[&x[..], h].concat())).collect();
            let nodes = |j: usize| input.ptr[j] as usize..input.ptr[j + 1] as usize;
            let dag: Rows = (0..input.supply.len()).map(|j| sum(&per_node[nodes(j)].to_vec())).collect();
            let global = sum(&dag.iter().map(|h| plain.leaky("global_encoder.mlp", h)).collect());
            worst = worst.max(deviation(&decima.h_dag, &dag.concat()));
            worst = worst.max(deviation(&decima.h_glob, &global));

            let (mut stage, mut amounts) = (Vec::new(), Vec::new());
            for (j, h_dag) in dag.iter().enumerate() {
                for v in nodes(j).filter(|&v| input.stage_mask[v]) {
                    let row = [&x[v][..], &h[v], h_dag, &global].concat();
                    stage.extend(plain.mlp("stage_policy_network.mlp_score", f64::tanh, &row));
                }
                amounts.push(
                    (0..decima.caps[j])
                        .flat_map(|k| {
                            let row = [&x[nodes(j).start][..3], h_dag, &global, &[f64::from(k) / 50.0]].concat();
                            plain.mlp("exec_policy_network.mlp_score", f64::tanh, &row)
                        })
                        .collect::<Vec<_>>(),
                );
            }
            worst = worst.max(deviation(decima.stage_scores(), &stage));
            for (j, amounts) in amounts.iter().enumerate() {
                worst = worst.max(deviation(decima.amount_scores(j), amounts));
            }
        }
        assert!(worst < 1e-5, "{worst}");
        // The comparison can tell the two rules apart.
        assert!(textbook > 1e-2, "{textbook}");
        Ok(())
    }

    #[test]
    fn one_edge_anywhere_changes_the_embedding_of_an_isolated_stage() -> Result<(), NeuralError> {
        let tensors = random(4);
        let mut decima = evaluator(&tensors)?;
        let mut input = DecimaInput {
            num_executors: 10,
            committable: 3,
            source_job: None,
            ptr: vec![0, 1, 3],
            edges: Vec::new(),
            remaining: vec![40, 50, 60],
            most_recent_duration: vec![1000.0; 3],
            supply: vec![0, 0],
            stage_mask: vec![true; 3],
        };
        decima.embed(&input)?;
        let (plain, x) = (Plain(&tensors), wide(&decima.x, FEATURES));
        let prepared = plain.leaky("node_encoder.mlp_prep", &x[0]);
        assert!(deviation(&decima.h[..WIDTH], &prepared) < 1e-5);
        input.edges.push([1, 2]);
        decima.embed(&input)?;
        let updated = plain.leaky("node_encoder.mlp_update", &prepared);
        assert!(deviation(&decima.h[..WIDTH], &updated) < 1e-5);
        assert!(deviation(&decima.h[..WIDTH], &prepared) > 1e-2);
        Ok(())
    }

    fn everything(decima: &mut Decima, input: &DecimaInput) -> Result<Vec<u32>, NeuralError> {
        decima.embed(input)?;
        let mut all = [decima.x(), decima.h_node(), decima.h_dag(), decima.h_glob()].concat();
        all.extend_from_slice(decima.stage_scores());
        for j in 0..input.supply.len() {
            all.extend_from_slice(decima.amount_scores(j));
        }
        Ok(all.into_iter().map(f32::to_bits).collect())
    }

    #[test]
    fn instructions_and_earlier_observations_change_no_bit() -> Result<(), NeuralError> {
        let tensors = random(5);
        let mut used = evaluator(&tensors)?;
        for seed in 0..20 {
            let input = observation(seed, 6, 12, 0.3);
            let mut portable = evaluator(&tensors)?;
            portable.kernel = Kernel::PORTABLE;
            assert_eq!(everything(&mut used, &input)?, everything(&mut portable, &input)?);
        }
        Ok(())
    }

    #[test]
    fn a_refused_observation_leaves_an_empty_and_usable_evaluator() -> Result<(), NeuralError> {
        let mut decima = evaluator(&random(6))?;
        let good = observation(1, 3, 5, 0.5);
        let before = everything(&mut decima, &good)?;
        let mut cyclic = good.clone();
        cyclic.edges = vec![[0, 1], [1, 0]];
        let mut huge = good.clone();
        huge.most_recent_duration[0] = f32::MAX;
        for bad in [cyclic, huge] {
            assert!(decima.embed(&bad).is_err());
            assert!(decima.caps().is_empty() && decima.h_dag().is_empty() && decima.stage_scores().is_empty());
        }
        assert_eq!(everything(&mut decima, &good)?, before);
        let mut idle = DecimaInput::default();
        (idle.num_executors, idle.ptr) = (5, vec![0]);
        decima.embed(&idle)?;
        assert!(decima.h_glob().iter().all(|&v| v == 0.0) && decima.stage_scores().is_empty());
        Ok(())
    }

    #[test]
    #[ignore = "a timing: cargo test --release --no-default-features --lib decision_takes -- --ignored --nocapture"]
    fn a_decision_takes_well_under_a_tenth_of_a_millisecond() -> Result<(), NeuralError> {
        let mut decima = evaluator(&random(7))?;
        let mut input = observation(2, 10, 1, 0.0);
        // Ten jobs of ten stages, nine edges each, twenty schedulable stages, fifty amounts.
        input.ptr = (0..=10).map(|j| 10 * j).collect();
        input.remaining = (0..100).collect();
        input.most_recent_duration = vec![1500.0; 100];
        input.stage_mask = (0..100).map(|v| v % 5 == 0).collect();
        input.supply = vec![0; 10];
        input.edges = (0..100).filter(|v| v % 10 != 9).map(|v| [v, v / 10 * 10 + (v % 10 + 2).min(9)]).collect();
        for kernel in [Kernel::PORTABLE, Kernel::detect()] {
            decima.kernel = kernel;
            let mut times: Vec<_> = (0..3000)
                .map(|_| {
                    let start = std::time::Instant::now();
                    decima.embed(&input).expect("a valid observation");
                    assert_eq!((decima.stage_scores().len(), decima.amount_scores(3).len()), (20, 50));
                    start.elapsed()
                })
                .collect();
            times.sort_unstable();
            let median = times[times.len() / 2];
            println!("{kernel:?}: {median:?}, {} steps", decima.graph.steps());
            assert!(median.as_micros() < 100, "{median:?}");
        }
        Ok(())
    }
}
