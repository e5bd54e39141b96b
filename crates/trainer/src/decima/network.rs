//! The Decima network in libtorch, over a whole batch of decisions, so that it can be differentiated.

use super::batch::{Batch, Lines};
use crate::{
    Weights,
    libtorch::{self, Layer, Table, entropy, floats, linear, places},
    update::Answers,
};
use sched_distill_dag::network::{FEATURES, WIDTH, shapes};
use tch::{Device, Kind, TchError, Tensor};

/// The network's perceptrons over one row of weights.
pub(super) struct Network {
    /// All weights, shape `(20802,)`; gradients gather here.
    pub(super) weights: Tensor,
    /// Perceptrons in the order of the description.
    blocks: Vec<[Layer; 3]>,
}

/// A batch on the device.
pub(super) struct Inputs {
    /// Features of nodes, shape `(nodes, 5)`.
    pub(super) x: Tensor,
    node_job: Tensor,
    leaves: Tensor,
    /// Children, parents; number, child and parent of each edge.
    messages: Vec<[Tensor; 5]>,
    member: [Tensor; 2],
    scored: Tensor,
    candidate: Tensor,
    stage_decision: Tensor,
    stages: Table,
    amount_job: Tensor,
    amount_node: Tensor,
    amount_share: Tensor,
    amount_decision: Tensor,
    amounts: Table,
    pub(super) has_amount: Tensor,
    pub(super) old: Tensor,
    pub(super) advantage: Tensor,
    decisions: i64,
    jobs: i64,
}

impl Inputs {
    pub(super) fn new(batch: &Batch, device: Device) -> Result<Self, TchError> {
        let index = |list: &[i64]| places(list, device);
        let floats = |list: &[f32]| floats(list, device);
        let table = |lines: &Lines| -> Result<Table, TchError> {
            Ok(Table { place: index(&lines.place)?, width: lines.width, target: index(&lines.target)? })
        };
        let messages = batch.messages.iter().map(|m| {
            let lists = [&m.children, &m.parents, &m.edge, &m.edge_child, &m.edge_parent];
            let [a, b, c, d, e] = lists.map(|list| index(list));
            Ok([a?, b?, c?, d?, e?])
        });
        Ok(Self {
            x: floats(&batch.x)?.f_view([-1, FEATURES as i64])?,
            node_job: index(&batch.node_job)?,
            leaves: index(&batch.leaves)?,
            messages: messages.collect::<Result<_, TchError>>()?,
            member: [index(&batch.member_job)?, index(&batch.member_decision)?],
            scored: index(&batch.scored)?,
            candidate: index(&batch.candidate)?,
            stage_decision: index(&batch.stages.decision)?,
            stages: table(&batch.stages)?,
            amount_job: index(&batch.amount_job)?,
            amount_node: index(&batch.amount_node)?,
            amount_share: floats(&batch.amount_share)?.f_view([-1, 1])?,
            amount_decision: index(&batch.amounts.decision)?,
            amounts: table(&batch.amounts)?,
            has_amount: floats(&batch.has_amount)?,
            old: floats(&batch.old)?,
            advantage: floats(&batch.advantage)?,
            decisions: batch.decisions,
            jobs: batch.jobs,
        })
    }
}

impl Inputs {
    /// The same in double precision.
    pub(super) fn double(mut self) -> Result<Self, TchError> {
        for t in [&mut self.x, &mut self.amount_share, &mut self.has_amount, &mut self.old, &mut self.advantage] {
            *t = t.f_to_kind(Kind::Double)?;
        }
        Ok(self)
    }
}

impl Network {
    /// The network with these weights, ready to gather their gradient.
    pub(super) fn new(weights: &Weights, device: Device) -> Result<Self, TchError> {
        Self::over(libtorch::row(&weights.data, device)?)
    }

    /// The network over a row of weights, of whatever precision.
    pub(super) fn over(weights: Tensor) -> Result<Self, TchError> {
        let layers = libtorch::layers(&weights, &shapes())?;
        let copy = |layer: &Layer| (layer.0.shallow_clone(), layer.1.shallow_clone());
        let blocks = layers.as_chunks::<3>().0.iter().map(|block| block.each_ref().map(copy)).collect();
        Ok(Self { weights, blocks })
    }

    /// A perceptron of the encoder.
    fn embed(&self, block: usize, x: &Tensor) -> Result<Tensor, TchError> {
        let [first, second, third] = &self.blocks[block];
        let x = leaky(&linear(x, first)?)?;
        let x = leaky(&linear(&x, second)?)?;
        linear(&x, third)
    }

    /// The rest of a head, from what its first layer adds up to.
    fn score(&self, block: usize, first: &Tensor) -> Result<Tensor, TchError> {
        let [_, second, third] = &self.blocks[block];
        linear(&linear(&first.f_tanh()?, second)?.f_tanh()?, third)?.f_view([-1])
    }

    /// Log-probabilities of all stages, shape `(decisions, most candidates)`, and of the amounts for the stage to learn from,
    /// shape `(decisions, most amounts)`. `x` takes the place of the batch's features; `edges`, shape `(edges, 1)`, scales
    /// the messages along each edge.
    fn scores(&self, inputs: &Inputs, x: &Tensor, edges: Option<&Tensor>) -> Result<(Tensor, Tensor), TchError> {
        let h = self.embed_nodes(inputs, x, edges)?;
        let zeros = |rows: i64| Tensor::f_zeros([rows, WIDTH as i64], (h.kind(), h.device()));
        let of_nodes = self.embed(3, &Tensor::f_cat(&[x, &h], 1)?)?;
        let dag = zeros(inputs.jobs)?.f_index_add(0, &inputs.node_job, &of_nodes)?;
        let [job, decision] = &inputs.member;
        let of_jobs = self.embed(4, &dag)?.f_index_select(0, job)?;
        let glob = zeros(inputs.decisions)?.f_index_add(0, decision, &of_jobs)?;

        // The first layer of a head sees the cluster as every candidate of the decision does: that part is added up once.
        let (weight, bias) = &self.blocks[5][0];
        let own = (FEATURES + 2 * WIDTH) as i64;
        let select = |t: &Tensor| t.f_index_select(0, &inputs.scored);
        let job_of = select(&inputs.node_job)?;
        let nodes = Tensor::f_cat(&[select(x)?, select(&h)?, dag.f_index_select(0, &job_of)?], 1)?;
        let nodes = nodes.f_linear(&weight.f_narrow(1, 0, own)?, None::<&Tensor>)?;
        let cluster = glob.f_linear(&weight.f_narrow(1, own, WIDTH as i64)?, Some(bias))?;
        let first =
            nodes.f_index_select(0, &inputs.candidate)?.f_add(&cluster.f_index_select(0, &inputs.stage_decision)?)?;
        let stages = inputs.stages.log_softmax(&self.score(5, &first)?)?;

        let (weight, bias) = &self.blocks[6][0];
        let shared = (3 + 2 * WIDTH) as i64;
        let features = x.f_index_select(0, &inputs.amount_node)?.f_narrow(1, 0, 3)?;
        let state = Tensor::f_cat(&[features, dag.f_index_select(0, &inputs.amount_job)?, glob], 1)?;
        let state = state.f_linear(&weight.f_narrow(1, 0, shared)?, Some(bias))?;
        let share = inputs.amount_share.f_linear(&weight.f_narrow(1, shared, 1)?, None::<&Tensor>)?;
        let first = state.f_index_select(0, &inputs.amount_decision)?.f_add(&share)?;
        let amounts = inputs.amounts.log_softmax(&self.score(6, &first)?)?;
        Ok((stages, amounts))
    }

    /// What the network says about the decisions to learn from; `x` as of [`Network::scores`].
    pub(super) fn answers(&self, inputs: &Inputs, x: &Tensor) -> Result<Answers, TchError> {
        let (stages, amounts) = self.scores(inputs, x, None)?;
        let amount = inputs.amounts.chosen(&amounts)?.f_mul(&inputs.has_amount)?;
        Ok(Answers {
            log_prob: inputs.stages.chosen(&stages)?.f_add(&amount)?,
            entropy: entropy(&stages)?.f_add(&entropy(&amounts)?.f_mul(&inputs.has_amount)?)?,
        })
    }

    /// Log-probabilities of the stage and of the amount to learn from, one per decision, where features and edges are others;
    /// see [`Network::scores`].
    pub(super) fn log_probs(&self, inputs: &Inputs, x: &Tensor, edges: &Tensor) -> Result<[Tensor; 2], TchError> {
        let (stages, amounts) = self.scores(inputs, x, Some(edges))?;
        let amount = inputs.amounts.chosen(&amounts)?.f_mul(&inputs.has_amount)?;
        Ok([inputs.stages.chosen(&stages)?, amount])
    }

    /// Node embeddings, shape `(nodes, 16)`; see [`sched_distill_dag::network::Decima`] for the three peculiarities.
    fn embed_nodes(&self, inputs: &Inputs, x: &Tensor, edges: Option<&Tensor>) -> Result<Tensor, TchError> {
        let h0 = self.embed(0, x)?;
        let leaves = self.embed(2, &h0.f_index_select(0, &inputs.leaves)?)?;
        let mut h = h0.f_index_copy(0, &inputs.leaves, &leaves)?;
        for [children, parents, edge, edge_child, edge_parent] in &inputs.messages {
            let messages = self.embed(1, &h.f_index_select(0, children)?)?.f_index_select(0, edge_child)?;
            let messages = match edges {
                Some(edges) => messages.f_mul(&edges.f_index_select(0, edge)?)?,
                None => messages,
            };
            let sums = Tensor::f_zeros([parents.size1()?, WIDTH as i64], (h.kind(), h.device()))?;
            let sums = sums.f_index_add(0, edge_parent, &messages)?;
            let new = self.embed(2, &sums)?.f_add(&h0.f_index_select(0, parents)?)?;
            h = h.f_index_copy(0, parents, &new)?;
        }
        Ok(h)
    }
}

/// LeakyReLU(0.2).
fn leaky(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_maximum(&x.f_mul_scalar(0.2)?)
}
