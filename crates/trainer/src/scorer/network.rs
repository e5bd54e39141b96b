//! The scorer in libtorch, over a whole batch of decisions, so that it can be differentiated.

use super::batch::{Batch, LevelBatch};
use crate::{
    Weights,
    libtorch::{Layer, Table, entropy, floats, layers, linear, places, row},
    update::Answers,
};
use sched_distill_core::{level::FeatureSet, network::scorer::ScorerShape};
use tch::{Device, Kind, TchError, Tensor};

/// The network over one row of weights.
pub(super) struct Network {
    /// All weights; gradients gather here.
    pub(super) weights: Tensor,
    width: i64,
    levels: Vec<Head>,
    value: [Layer; 3],
}

/// The layers of a level.
struct Head {
    embed: Vec<Layer>,
    score: [Layer; 2],
}

/// A batch on the device.
pub(super) struct Inputs {
    pub(super) levels: Vec<LevelInputs>,
    pub(super) old: Tensor,
    pub(super) advantage: Tensor,
    pub(super) worth: Tensor,
    decisions: i64,
}

/// The choices of a level on the device.
pub(super) struct LevelInputs {
    /// Shape `(rows, features)`.
    pub(super) x: Tensor,
    choice: Tensor,
    count: Tensor,
    table: Table,
    taken: Tensor,
    decision: Tensor,
    above: Tensor,
    choices: i64,
}

impl Inputs {
    pub(super) fn new(batch: &Batch, set: &FeatureSet, device: Device) -> Result<Self, TchError> {
        let level = |(batch, features): (&LevelBatch, usize)| -> Result<LevelInputs, TchError> {
            let index = |list: &[i64]| places(list, device);
            Ok(LevelInputs {
                x: floats(&batch.x, device)?.f_view([-1, features as i64])?,
                choice: index(&batch.choice)?,
                count: floats(&batch.count, device)?.f_view([-1, 1])?,
                table: Table { place: index(&batch.place)?, width: batch.width, target: index(&batch.target)? },
                taken: index(&batch.taken)?,
                decision: index(&batch.decision)?,
                above: index(&batch.above)?,
                choices: batch.count.len() as i64,
            })
        };
        let widths = set.levels.iter().map(|level| level.features.len());
        Ok(Self {
            levels: batch.levels.iter().zip(widths).map(level).collect::<Result<_, _>>()?,
            old: floats(&batch.old, device)?,
            advantage: floats(&batch.advantage, device)?,
            worth: floats(&batch.worth, device)?,
            decisions: batch.decisions,
        })
    }

    /// The same in double precision.
    pub(super) fn double(mut self) -> Result<Self, TchError> {
        let of_levels = self.levels.iter_mut().flat_map(|level| [&mut level.x, &mut level.count]);
        for t in of_levels.chain([&mut self.old, &mut self.advantage, &mut self.worth]) {
            *t = t.f_to_kind(Kind::Double)?;
        }
        Ok(self)
    }
}

impl Network {
    /// The network with these weights, ready to gather their gradient.
    pub(super) fn new(
        weights: &Weights,
        set: &FeatureSet,
        shape: ScorerShape,
        device: Device,
    ) -> Result<Self, TchError> {
        Self::over(row(&weights.data, device)?, set, shape)
    }

    /// The network over a row of weights, of whatever precision.
    pub(super) fn over(weights: Tensor, set: &FeatureSet, shape: ScorerShape) -> Result<Self, TchError> {
        // Means and scales stand in the row as pairs too; rows come standardised.
        let mut layers = layers(&weights, &shape.tensors(set))?.into_iter().skip(set.levels.len());
        let mut next = || layers.next().expect("the row has the layers of its shape");
        let head = |next: &mut dyn FnMut() -> Layer| Head {
            embed: (0..shape.depth).map(|_| next()).collect(),
            score: [next(), next()],
        };
        let levels = set.levels.iter().map(|_| head(&mut next)).collect();
        let value = std::array::from_fn(|_| next());
        Ok(Self { weights, width: shape.width as i64, levels, value })
    }

    /// What the network says about the decisions to learn from.
    pub(super) fn answers(&self, inputs: &Inputs) -> Result<Answers, TchError> {
        let rows: Vec<&Tensor> = inputs.levels.iter().map(|level| &level.x).collect();
        let zeros = || Tensor::f_zeros([inputs.decisions], (inputs.old.kind(), inputs.old.device()));
        let (mut log_prob, mut sum) = (zeros()?, zeros()?);
        for (level, log_probs) in inputs.levels.iter().zip(self.log_probs(inputs, &rows)?) {
            let Some(log_probs) = log_probs else { break };
            log_prob = log_prob.f_index_add(0, &level.decision, &level.table.chosen(&log_probs)?)?;
            sum = sum.f_index_add(0, &level.decision, &entropy(&log_probs)?)?;
        }
        Ok(Answers { log_prob, entropy: sum })
    }

    /// Log-probabilities of the candidate to learn from by level, one per choice; `rows` takes the place of the batch's.
    pub(super) fn chosen(&self, inputs: &Inputs, rows: &[&Tensor]) -> Result<Vec<Option<Tensor>>, TchError> {
        let all = self.log_probs(inputs, rows)?;
        let chosen =
            |(level, p): (&LevelInputs, &Option<Tensor>)| p.as_ref().map(|p| level.table.chosen(p)).transpose();
        inputs.levels.iter().zip(&all).map(chosen).collect()
    }

    /// Log-probabilities of all candidates by level, shape `(choices, most candidates)`; none where no decision gets there.
    fn log_probs(&self, inputs: &Inputs, rows: &[&Tensor]) -> Result<Vec<Option<Tensor>>, TchError> {
        let mut found = Vec::new();
        let mut context: Option<Tensor> = None;
        for ((level, head), x) in inputs.levels.iter().zip(&self.levels).zip(rows) {
            if level.choices == 0 {
                found.push(None);
                continue;
            }
            let features = x.size()[1];
            let (first, rest) = head.embed.split_first().expect("there is at least one layer");
            let own = x.f_linear(&first.0.f_narrow(1, 0, features)?, Some(&first.1))?;
            let own = match &context {
                // What was taken above is the same for all candidates: it is added up once.
                Some(all) => {
                    let part = first.0.f_narrow(1, features, 2 * self.width)?;
                    let shared = all.f_index_select(0, &level.above)?.f_linear(&part, None::<&Tensor>)?;
                    own.f_add(&shared.f_index_select(0, &level.choice)?)?
                }
                None => own,
            };
            let mut h = leaky(&own)?;
            for layer in rest {
                h = leaky(&linear(&h, layer)?)?;
            }
            let sums = Tensor::f_zeros([level.choices, self.width], (h.kind(), h.device()))?;
            let pooled = sums.f_index_add(0, &level.choice, &h)?.f_div(&level.count)?;
            let [meet, last] = &head.score;
            let own = h.f_linear(&meet.0.f_narrow(1, 0, self.width)?, None::<&Tensor>)?;
            let shared = pooled.f_linear(&meet.0.f_narrow(1, self.width, self.width)?, Some(&meet.1))?;
            let met = leaky(&own.f_add(&shared.f_index_select(0, &level.choice)?)?)?;
            found.push(Some(level.table.log_softmax(&linear(&met, last)?.f_view([-1])?)?));
            context = Some(Tensor::f_cat(&[h.f_index_select(0, &level.taken)?, pooled], 1)?);
        }
        Ok(found)
    }

    /// What states are valued at: a sum over the candidates of the first level.
    pub(super) fn values(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let [first, second, last] = &self.value;
        let level = &inputs.levels[0];
        let h = leaky(&linear(&leaky(&linear(&level.x, first)?)?, second)?)?;
        let each = linear(&h, last)?.f_view([-1])?;
        Tensor::f_zeros([inputs.decisions], (each.kind(), each.device()))?.f_index_add(0, &level.choice, &each)
    }
}

/// LeakyReLU(0.2).
fn leaky(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_maximum(&x.f_mul_scalar(0.2)?)
}
