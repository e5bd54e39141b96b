//! Coefficients of a sum of terms as a conditional logit, over choices that are elsewhere.
//!
//! Terms are searched for on some of the choices; their coefficients come from all of them, by Newton's method, of which each step
//! needs no more than a sum over the choices.

use super::{ByPart, Weighing};
use crate::{
    FitError, FitParams, Learner, LogitError, LogitParams, SplineParams,
    choice::{Choices, Constant, Design, Effort, Order, Problem, Slopes, Sums, ValidLogitParams, minimise},
    cholesky,
    learner::logit_columns,
    spline::{columns, sharpened, wide},
    target,
};
use linfa::ParamGuard;
use sched_distill_core::{
    level::LevelSpec,
    model::{Additive, Factor, Shape, Term},
};
use sched_distill_trace::LevelTable;
use serde::{Deserialize, Serialize};

/// The terms of a model, and what their coefficients are learnt from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The factors of each term.
    pub terms: Vec<Vec<Factor>>,
    /// Power that the teacher's probabilities are raised to.
    pub sharpness: f64,
    /// What the choices weigh.
    pub weighing: Weighing,
}

impl Terms {
    /// The choices of a table as the terms have them: their values, shape `(candidates, terms)`, and the rest.
    fn of(&self, table: &LevelTable) -> Result<(Vec<f64>, Choices), FitError> {
        target::check_finite(&table.x, table)?;
        let mut choices = Choices::new(table.width());
        for choice in table.iter().filter(|choice| choice.len() > 1) {
            let weight = f64::from(choice.header.weight) * self.weighing.lift[usize::from(choice.header.kind)];
            target::push_choice(&mut choices, &choice, weight);
        }
        let data = choices.data();
        let x = columns(&data, &self.terms);
        let probability = sharpened(&data, self.sharpness);
        choices.set_probability(probability);
        Ok((x, choices))
    }
}

/// How far each term differs within choices.
#[derive(Clone, Debug)]
pub struct SpreadSums {
    terms: Terms,
    squares: ByPart,
    largest: Vec<f64>,
}

impl SpreadSums {
    /// Of no choices yet.
    #[must_use]
    pub fn new(terms: Terms) -> Self {
        Self { squares: ByPart::default(), largest: vec![0.0; terms.terms.len()], terms }
    }

    /// Adds choices of a part.
    ///
    /// # Errors
    ///
    /// A feature that is not finite.
    pub fn add(&mut self, part: u32, table: &LevelTable) -> Result<(), FitError> {
        let (x, choices) = self.terms.of(table)?;
        let width = self.terms.terms.len();
        let [squares, largest] = Design::all(width, Vec::new()).measure(&wide(&choices.data(), &x, width));
        self.merge(ByPart::default(), &largest);
        self.squares.add(part, squares);
        Ok(())
    }

    /// Squares by part, and the largest absolute value of each term.
    #[must_use]
    pub fn found(&self) -> (&ByPart, &[f64]) {
        (&self.squares, &self.largest)
    }

    /// Takes in other parts.
    pub fn merge(&mut self, squares: ByPart, largest: &[f64]) {
        self.squares.merge(squares);
        self.largest.iter_mut().zip(largest).for_each(|(most, other)| *most = most.max(*other));
    }
}

/// Where Newton's method stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewtonAt {
    /// Deviation of each term within choices.
    pub sd: Vec<f64>,
    /// The terms that have coefficients.
    pub used: Vec<usize>,
    /// Coefficients of these, per deviation.
    pub beta: Vec<f64>,
    /// Whether the curvature is asked for too.
    pub curved: bool,
}

impl NewtonAt {
    fn design(&self) -> Design {
        let mut design = Design::all(self.sd.len(), Vec::new());
        (design.sd, design.used) = (self.sd.clone(), self.used.clone());
        design
    }

    /// The sums over the choices of a table.
    fn sums(&self, terms: &Terms, table: &LevelTable, order: Order) -> Result<Sums, FitError> {
        let (x, choices) = terms.of(table)?;
        let (data, design) = (choices.data(), self.design());
        let data = wide(&data, &x, terms.terms.len());
        Ok(Problem { data: &data, design: &design, total: terms.weighing.total, rows: None }.all(&self.beta, order))
    }
}

/// Loss, slope and, where asked for, curvature at some coefficients.
#[derive(Clone, Debug)]
pub struct NewtonSums {
    terms: Terms,
    at: NewtonAt,
    sums: ByPart,
}

impl NewtonSums {
    /// Over no choices yet.
    #[must_use]
    pub fn new(terms: Terms, at: NewtonAt) -> Self {
        Self { terms, at, sums: ByPart::default() }
    }

    /// Adds choices of a part.
    ///
    /// # Errors
    ///
    /// A feature that is not finite.
    pub fn add(&mut self, part: u32, table: &LevelTable) -> Result<(), FitError> {
        let order = if self.at.curved { Order::Curvature } else { Order::Slope };
        let Sums { value, gradient, hessian, .. } = self.at.sums(&self.terms, table, order)?;
        self.sums.add(part, [value].into_iter().chain(gradient).chain(hessian));
        Ok(())
    }

    /// The sums by part: the value, the gradient and, by rows, the Hessian.
    #[must_use]
    pub fn by_part(&self) -> &ByPart {
        &self.sums
    }

    /// Takes in other parts.
    pub fn merge(&mut self, other: ByPart) {
        self.sums.merge(other);
    }
}

/// Products of the slopes of episodes, for standard errors that allow for any dependence within an episode. An episode is all in
/// one part.
#[derive(Clone, Debug)]
pub struct ClusterSums {
    terms: Terms,
    at: NewtonAt,
    sums: ByPart,
    /// The part and the episode that was read last, which may go on, and its slope.
    last: Option<(u32, u64, Vec<f64>)>,
}

impl ClusterSums {
    /// Over no choices yet.
    #[must_use]
    pub fn new(terms: Terms, at: NewtonAt) -> Self {
        Self { terms, at, sums: ByPart::default(), last: None }
    }

    /// Adds choices of a part, which follow those before.
    ///
    /// # Errors
    ///
    /// A feature that is not finite.
    pub fn add(&mut self, part: u32, table: &LevelTable) -> Result<(), FitError> {
        for (episode, slope) in self.at.sums(&self.terms, table, Order::Clusters)?.clusters {
            match &mut self.last {
                Some((its_part, its_episode, sum)) if (*its_part, *its_episode) == (part, episode) => {
                    sum.iter_mut().zip(&slope).for_each(|(a, b)| *a += b);
                }
                _ => {
                    self.close();
                    self.last = Some((part, episode, slope));
                }
            }
        }
        Ok(())
    }

    /// Adds the last episode.
    fn close(&mut self) {
        if let Some((part, _, slope)) = self.last.take() {
            self.sums.add(part, products(&slope));
        }
    }

    /// The sums by part, as if nothing followed: the number of episodes and, by rows, the products.
    #[must_use]
    pub fn by_part(&self) -> ByPart {
        let mut sums = self.sums.clone();
        if let Some((part, _, slope)) = &self.last {
            sums.add(*part, products(slope));
        }
        sums
    }

    /// Takes in other parts.
    pub fn merge(&mut self, other: ByPart) {
        self.sums.merge(other);
    }
}

/// What an episode adds: one, and the products of its slopes.
fn products(slope: &[f64]) -> impl Iterator<Item = f64> {
    [1.0].into_iter().chain(slope.iter().flat_map(move |a| slope.iter().map(move |b| a * b)))
}

/// Who has the choices.
pub trait TermSource {
    /// Why sums may not come.
    type Error: From<LogitError>;

    /// [`SpreadSums::found`] over all choices.
    ///
    /// # Errors
    ///
    /// What keeps the sums from being formed.
    fn spread(&mut self, terms: &Terms) -> Result<(ByPart, Vec<f64>), Self::Error>;

    /// [`NewtonSums::by_part`] over all choices.
    ///
    /// # Errors
    ///
    /// What keeps the sums from being formed.
    fn newton(&mut self, terms: &Terms, at: &NewtonAt) -> Result<ByPart, Self::Error>;

    /// [`ClusterSums::by_part`] over all choices.
    ///
    /// # Errors
    ///
    /// What keeps the sums from being formed.
    fn clusters(&mut self, terms: &Terms, at: &NewtonAt) -> Result<ByPart, Self::Error>;
}

impl Terms {
    /// The terms of a model that a learner found on some of the choices, to be fitted on all; and of which ones it is an error if
    /// they never differ. A logit whose features nobody chose has all of them.
    #[must_use]
    pub fn of_model(
        found: &Additive,
        (learner, params): (Learner, &FitParams),
        spec: &LevelSpec,
        (weighing, sized): (Weighing, bool),
    ) -> (Self, Vec<bool>) {
        let linear = |feature: u32| Factor { feature, shape: Shape::Linear, threshold: None };
        let searched = SplineParams::default().sharpness;
        let (terms, must, sharpness): (Vec<Vec<Factor>>, Vec<bool>, f64) = match learner {
            Learner::Logit if !sized => {
                let (columns, interactions) = logit_columns(params, spec);
                let all = (0..spec.features.len() as u32).collect();
                let named = !columns.is_empty();
                let alone = if named { columns } else { all };
                let must = alone.iter().map(|_| named).chain(interactions.iter().map(|_| true)).collect();
                let products = interactions.into_iter().map(|pair| pair.map(linear).to_vec());
                (alone.into_iter().map(|column| vec![linear(column)]).chain(products).collect(), must, 1.0)
            }
            _ => {
                let terms: Vec<Vec<Factor>> = found.terms.iter().map(|term| term.factors.clone()).collect();
                let must = vec![false; terms.len()];
                let sharpness = if learner == Learner::Logit || spec.is_amount() { 1.0 } else { searched };
                (terms, must, sharpness)
            }
        };
        (Self { terms, sharpness, weighing }, must)
    }
}

/// Fits the coefficients of terms. `start` has coefficients near them, in score per unit, if any are known. Terms that never differ
/// within a choice are left out, unless they `must` be there.
///
/// # Errors
///
/// A bad ridge, a term that must be there and never differs, terms that are combinations of others or tell the choices perfectly where there is no ridge, and those of the source.
pub fn fit_terms_by_sums<S: TermSource>(
    source: &mut S,
    terms: &Terms,
    ridge: f64,
    start: Option<&[f64]>,
    must: impl Fn(usize) -> bool,
) -> Result<Additive, S::Error> {
    let recipe = LogitParams::default().ridge(ridge).constant(Constant::LeaveOut);
    let params: &ValidLogitParams = recipe.check_ref()?;
    let (squares, largest) = source.spread(terms)?;
    let squares = squares.total(terms.terms.len());
    let design = Design::of_measured(terms.terms.len(), [squares, largest], terms.weighing.total, params)?;
    let columns = |&i: &usize| terms.terms[i].iter().map(|factor| factor.feature as usize).collect();
    let lacking: Vec<Vec<usize>> =
        (0..terms.terms.len()).filter(|i| must(*i) && !design.used.contains(i)).map(|i| columns(&i)).collect();
    if !lacking.is_empty() {
        return Err(LogitError::Constant { terms: lacking }.into());
    }
    let mut slopes = Elsewhere { source, terms, design: &design };
    let fitted = minimise(&mut slopes, &design, ridge, start, Effort::Full)?;
    let term = |(i, factors): (usize, &Vec<Factor>)| Term {
        coefficient: fitted.coefficient[i],
        factors: factors.clone(),
        sd: fitted.sd[i],
        standard_error: fitted.standard_error.as_ref().map(|errors| errors[i]),
    };
    let used = terms.terms.iter().enumerate().filter(|(i, _)| design.used.contains(i));
    Ok(Additive { intercept: 0.0, terms: used.map(term).collect() })
}

/// Sums that a source forms.
struct Elsewhere<'a, S> {
    source: &'a mut S,
    terms: &'a Terms,
    design: &'a Design,
}

impl<S> Elsewhere<'_, S> {
    fn at(&self, beta: &[f64], curved: bool) -> NewtonAt {
        NewtonAt { sd: self.design.sd.clone(), used: self.design.used.clone(), beta: beta.to_vec(), curved }
    }
}

impl<S: TermSource> Slopes for Elsewhere<'_, S> {
    type Error = S::Error;

    fn sums(&mut self, beta: &[f64], order: Order) -> Result<Sums, S::Error> {
        let (k, curved) = (beta.len(), order == Order::Curvature);
        let at = self.at(beta, curved);
        let numbers = self.source.newton(self.terms, &at)?.total(1 + k + if curved { k * k } else { 0 });
        let mut sums = Sums::new(k, order);
        sums.value = numbers[0];
        sums.gradient.copy_from_slice(&numbers[1..=k]);
        sums.hessian.copy_from_slice(&numbers[1 + k..]);
        Ok(sums)
    }

    fn standard_errors(&mut self, beta: &[f64], hessian: &[f64]) -> Result<Option<Vec<f64>>, S::Error> {
        let (k, at) = (beta.len(), self.at(beta, false));
        let numbers = self.source.clusters(self.terms, &at)?.total(1 + k * k);
        let (count, products) = (numbers[0], &numbers[1..]);
        // H⁻¹ · Σ s sᵀ · H⁻¹, whose diagonal is what counts.
        let moved: Vec<Vec<f64>> = products.chunks_exact(k.max(1)).map(|row| cholesky::solve(hessian, row)).collect();
        let variance = |j: usize| {
            let column: Vec<f64> = moved.iter().map(|row| row[j]).collect();
            cholesky::solve(hessian, &column)[j].max(0.0)
        };
        Ok((count > 1.0).then(|| (0..k).map(|j| (variance(j) * count / (count - 1.0)).sqrt()).collect()))
    }
}
