//! Integrated gradients: what part of a log-probability is put down to which input.
//!
//! The attribution of an input is its value times the mean gradient on the straight way from a baseline, at which all inputs are 0,
//! to what was seen (M. Sundararajan et al., *Axiomatic Attribution for Deep Networks*, ICML 2017). Attributions add up to the
//! difference of the log-probabilities at both ends.

use sched_distill_explain::{InputGradient, QuestionGradients, TeacherGradients};
use tch::{TchError, Tensor};

/// Steps along the way, doubled until the sum is right.
const STEPS: [u32; 6] = [32, 64, 128, 256, 512, 1024];
/// Allowed gap between the sum and what it explains, relative to it; below `SMALL` nats, absolute.
const GAP: f64 = 0.01;
const SMALL: f64 = 0.05;

/// One question of one decision.
#[derive(Clone, Debug)]
pub(crate) struct Attribution {
    /// Which question.
    question: usize,
    log_prob: f64,
    baseline: f64,
    /// Per input that is told apart.
    shares: Vec<f64>,
    steps: u32,
}

impl Attribution {
    fn gap(&self) -> f64 {
        let explained = self.log_prob - self.baseline;
        (self.shares.iter().sum::<f64>() - explained).abs() / explained.abs().max(SMALL)
    }
}

/// A question, and the inputs that are told apart: what each is called, and whose it is.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) inputs: Vec<(String, &'static str)>,
}

/// Attributions of one decision's answer to the question of that number, which is one of `inputs` told apart.
///
/// `seen` are the network's inputs in double precision, and `log_prob` says what it gives the answer for others of the same shapes;
/// `place` says which input the number at a place of a tensor counts as.
pub(crate) fn attribute(
    (question, inputs): (usize, usize),
    seen: &[Tensor],
    log_prob: impl Fn(&[Tensor]) -> Result<Tensor, TchError>,
    place: impl Fn(usize, usize) -> usize,
) -> Result<Attribution, TchError> {
    let at = |share: f64| -> Result<Vec<Tensor>, TchError> {
        seen.iter().map(|x| x.f_mul_scalar(share)?.f_set_requires_grad(true)).collect()
    };
    let end = |share: f64| -> Result<f64, TchError> { f64::try_from(log_prob(&at(share)?)?) };
    let (log_prob_seen, baseline) = (end(1.0)?, end(0.0)?);
    let values = seen.iter().map(numbers).collect::<Result<Vec<_>, _>>()?;
    // The midpoint rule.
    let integrate = |steps: u32| -> Result<Attribution, TchError> {
        let mut sums: Vec<Vec<f64>> = values.iter().map(|x| vec![0.0; x.len()]).collect();
        for step in 0..steps {
            let x = at((f64::from(step) + 0.5) / f64::from(steps))?;
            log_prob(&x)?.f_backward()?;
            for (sum, x) in sums.iter_mut().zip(&x) {
                let gradient = x.f_grad()?;
                // An input that plays no part has no gradient.
                if gradient.defined() {
                    sum.iter_mut().zip(numbers(&gradient)?).for_each(|(s, g)| *s += g / f64::from(steps));
                }
            }
        }
        let mut shares = vec![0.0; inputs];
        for (tensor, (values, sums)) in values.iter().zip(&sums).enumerate() {
            for (i, (value, gradient)) in values.iter().zip(sums).enumerate() {
                shares[place(tensor, i)] += value * gradient;
            }
        }
        Ok(Attribution { question, log_prob: log_prob_seen, baseline, shares, steps })
    };
    let [first, more @ ..] = STEPS;
    let mut found = integrate(first)?;
    for steps in more {
        if found.gap() <= GAP {
            break;
        }
        found = integrate(steps)?;
    }
    Ok(found)
}

fn numbers(x: &Tensor) -> Result<Vec<f64>, TchError> {
    Vec::try_from(x.f_view([-1])?)
}

/// What was found in decisions, question by question.
pub(crate) fn gather(decisions: &[Vec<Attribution>], questions: &[Question], baseline: String) -> TeacherGradients {
    let every = || decisions.iter().flatten();
    let of = |(number, question): (usize, &Question)| {
        let all: Vec<&Attribution> = every().filter(|a| a.question == number).collect();
        (!all.is_empty()).then(|| means(question, &all))
    };
    TeacherGradients {
        decisions: decisions.len(),
        steps: every().map(|a| a.steps).max().unwrap_or(0),
        gap: every().map(Attribution::gap).fold(0.0, f64::max),
        baseline,
        questions: questions.iter().enumerate().filter_map(of).collect(),
    }
}

/// Means over decisions; without the inputs that never play a part.
fn means(question: &Question, all: &[&Attribution]) -> QuestionGradients {
    let mean = |value: &dyn Fn(&Attribution) -> f64| all.iter().map(|a| value(a)).sum::<f64>() / all.len() as f64;
    let input = |(i, (feature, of)): (usize, &(String, &str))| {
        let (mean, size) = (mean(&|a| a.shares[i]), mean(&|a| a.shares[i].abs()));
        (size > 0.0).then(|| InputGradient { feature: feature.clone(), of: (*of).to_owned(), mean, size })
    };
    let mut inputs: Vec<InputGradient> = question.inputs.iter().enumerate().filter_map(input).collect();
    inputs.sort_by(|a, b| b.size.total_cmp(&a.size));
    QuestionGradients {
        question: question.text.clone(),
        decisions: all.len(),
        log_prob: mean(&|a| a.log_prob),
        baseline: mean(&|a| a.baseline),
        inputs,
    }
}
