//! What a foreign network answers, and whether that is an answer to the question.

use super::{ForeignError, Inputs, Network};

/// Scores of stages and of amounts of executors, with the shapes in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// A logit per node. Those of stages that may not be chosen are not looked at.
    pub stage: Vec<f32>,
    /// The shape of [`Scores::stage`]; must be `(nodes)`.
    pub stage_shape: Vec<usize>,
    /// By job, logits of 1, 2, ... executors, row-major. Of a job's row no more than its room is looked at, and nothing of
    /// jobs none of whose stages may be chosen.
    pub amount: Vec<f32>,
    /// The shape of [`Scores::amount`]; must be `(jobs, K)` with K from the executors on offer to those of the cluster.
    pub amount_shape: Vec<usize>,
}

impl Scores {
    /// Forgets everything but the buffers.
    pub fn clear(&mut self) {
        self.stage.clear();
        self.stage_shape.clear();
        self.amount.clear();
        self.amount_shape.clear();
    }

    /// The logits of the amounts that a job may be given, once [`Scores::check`] has found nothing.
    #[must_use]
    pub fn amounts(&self, inputs: &Inputs, job: usize) -> &[f32] {
        let width = self.amount_shape[1];
        &self.amount[job * width..][..inputs.room(job)]
    }

    /// Whether these are scores for that question.
    ///
    /// # Errors
    ///
    /// Another shape, or a score that is needed and not finite. `network` names the culprit.
    pub fn check(&self, network: &dyn Network, inputs: &Inputs) -> Result<(), ForeignError> {
        let (nodes, jobs) = (inputs.num_nodes(), inputs.num_jobs());
        let shape = |output: &'static str, found: &[usize], allowed: String| ForeignError::Shape {
            network: network.name(),
            output,
            found: tuple(found),
            allowed,
        };
        if self.stage_shape != [nodes] || self.stage.len() != nodes {
            return Err(shape("stage_scores", &self.stage_shape, format!("({nodes}): one per node")));
        }
        let (offered, executors) = (inputs.offered(), inputs.executors());
        let width = match self.amount_shape[..] {
            [rows, width] if rows == jobs && (offered..=executors).contains(&width) => width,
            _ => 0,
        };
        if width == 0 || self.amount.len() != jobs * width {
            let allowed = match offered == executors {
                true => format!("({jobs}, {executors}): a row per job, a column per executor on offer"),
                false => format!(
                    "({jobs}, K): a row per job, and {offered} (executors on offer) to {executors} (size of the cluster) \
                     columns"
                ),
            };
            return Err(shape("amount_scores", &self.amount_shape, allowed));
        }
        let bad = |place: String, value: f32| ForeignError::NotFinite { network: network.name(), place, value };
        for (node, &score) in self.stage.iter().enumerate().filter(|&(node, _)| inputs.mask[node]) {
            if !score.is_finite() {
                return Err(bad(format!("stage_scores[{node}]"), score));
            }
            let job = inputs.node_job[node] as usize;
            if let Some(at) = self.amounts(inputs, job).iter().position(|score| !score.is_finite()) {
                return Err(bad(format!("amount_scores[{job}, {at}]"), self.amounts(inputs, job)[at]));
            }
        }
        Ok(())
    }
}

/// `(3, 5)`
fn tuple(shape: &[usize]) -> String {
    format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    use sched_distill_dag::simulator::Simulator;

    struct X;

    impl Network for X {
        fn name(&self) -> String {
            "x".to_owned()
        }

        fn fresh(&self) -> Box<dyn Network> {
            Box::new(X)
        }

        fn scores(&mut self, _inputs: &Inputs, _out: &mut Scores) -> Result<(), ForeignError> {
            Ok(())
        }
    }

    #[test]
    fn wrong_shapes_and_missing_numbers_are_named() -> Result<(), Box<dyn std::error::Error>> {
        let workload = sched_distill_dag::workload::open(&"builtin,jobs=3,executors=6,rate=1".parse()?)?;
        let mut sim = Simulator::new(workload.cluster(), workload.jobs(1), 1);
        let mut inputs = Inputs::default();
        let stage = sim.view().ok_or("a question")?.schedulable()[0];
        sim.step(sched_distill_dag::Decision::Assign { stage, executors: 2 })?;
        inputs.read(&sim.view().ok_or("a question")?);
        let (nodes, jobs) = (inputs.num_nodes(), inputs.num_jobs());
        assert!(inputs.offered() < 6 && inputs.mask.contains(&false) && inputs.mask.contains(&true));
        let good = Scores {
            stage: inputs.mask.iter().map(|&on| if on { 1.0 } else { f32::NAN }).collect(),
            stage_shape: vec![nodes],
            amount: vec![0.5; jobs * 6],
            amount_shape: vec![jobs, 6],
        };
        assert!(good.check(&X, &inputs).is_ok());
        let narrow = Scores {
            amount: vec![0.5; jobs * inputs.offered()],
            amount_shape: vec![jobs, inputs.offered()],
            ..good.clone()
        };
        assert!(narrow.check(&X, &inputs).is_ok());
        let said = |change: &dyn Fn(&mut Scores)| {
            let mut scores = good.clone();
            change(&mut scores);
            scores.check(&X, &inputs).err().map(|e| e.to_string()).unwrap_or_default()
        };
        let chosen = inputs.mask.iter().position(|&on| on).unwrap_or_default();
        for (change, words) in [
            (&(|s: &mut Scores| s.stage_shape = vec![2, 1]) as &dyn Fn(&mut Scores), "stage_scores of shape (2, 1)"),
            (&|s| s.stage.truncate(1), "stage_scores"),
            (&|s| s.amount_shape = vec![1, 7], "amount_scores of shape (1, 7)"),
            (&|s| s.amount_shape[1] = 1, "executors on offer"),
            (&|s| s.amount_shape.clear(), "amount_scores of shape ()"),
            (&|s| s.stage[chosen] = f32::INFINITY, "is inf"),
            (&|s| s.amount.fill(f32::NAN), "is NaN"),
        ] {
            assert!(said(change).contains(words), "{}", said(change));
        }
        Ok(())
    }
}
