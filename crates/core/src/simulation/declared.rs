//! Edits of numbers that users declare. A scenario says which numbers there are and where jobs have them.

use super::{Edit, EditBudget, EditError, EditInfo, Simulated, edit::small_steps};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap as _};
use std::{fmt, marker::PhantomData};

/// A scenario whose users declare numbers of their jobs, each of which they may declare otherwise.
pub trait Declares: Simulated {
    /// The numbers, each with a name of its own.
    const NUMBERS: &'static [Declared<Self>];
    /// What they are declared of: a job, or a task where tasks are what arrives.
    const ENTITY: &'static str = "job";
}

/// A number that users declare.
pub struct Declared<S: Simulated> {
    /// What the user calls edits of it.
    pub name: &'static str,
    /// What an edit of it does.
    pub meaning: &'static str,
    /// What is declared, as in "the job declares 2 times its epochs".
    pub noun: &'static str,
    /// How such a number is told, with `{}` in its place: "{} epochs".
    pub told: &'static str,
    /// Whether it is a whole number, at least 1.
    pub is_whole: bool,
    /// Where a job has it.
    pub of: for<'a> fn(&'a mut S::Job) -> Number<'a>,
}

/// A number where it is declared.
pub enum Number<'a> {
    /// Any number; edits are of what it is beyond the second one, as a deadline is beyond its job's arrival.
    Real(&'a mut f64, f64),
    /// A whole one.
    Whole(&'a mut u32),
}

impl Number<'_> {
    fn get(&self) -> f64 {
        match self {
            Self::Real(number, origin) => **number - origin,
            Self::Whole(number) => f64::from(**number),
        }
    }

    /// Puts another number in its place; what it was taken to be, if that is not so.
    fn replace(self, old: f64, new: f64) -> Result<(), [f64; 2]> {
        match self {
            Self::Real(number, origin) => {
                let old = origin + old;
                // What is beyond another number is a difference, and known up to rounding only.
                if (*number - old).abs() > 1e-9 * old.abs().max(1.0) {
                    return Err([*number, old]);
                }
                *number = origin + new;
            }
            Self::Whole(number) if f64::from(*number) != old => return Err([f64::from(*number), old]),
            Self::Whole(number) => *number = new as u32,
        }
        Ok(())
    }
}

/// Another declared number; what the job really takes stays.
///
/// As JSON it is `{"was": 10.0, "factor": 0.5}`, with the name of the number as `edit` where a scenario has several.
#[derive(Clone, Debug)]
pub struct DeclaredEdit<S> {
    number: usize,
    was: f64,
    factor: f64,
    scenario: PhantomData<S>,
}

impl<S> PartialEq for DeclaredEdit<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.number, self.was, self.factor) == (other.number, other.was, other.factor)
    }
}

impl<S: Declares> DeclaredEdit<S> {
    /// The number at this place of [`Declares::NUMBERS`], which was declared as `was`, is declared as so many times that.
    #[must_use]
    pub fn new(number: usize, was: f64, factor: f64) -> Self {
        Self { number, was, factor, scenario: PhantomData }
    }

    /// Which number.
    #[must_use]
    pub fn declared(&self) -> &'static Declared<S> {
        &S::NUMBERS[self.number]
    }

    /// What was declared.
    #[must_use]
    pub fn was(&self) -> f64 {
        self.was
    }

    /// What is declared then.
    #[must_use]
    pub fn value(&self) -> f64 {
        let value = self.was * self.factor;
        if self.declared().is_whole { value.round().max(1.0) } else { value }
    }

    /// Makes the edit.
    ///
    /// # Errors
    ///
    /// Something else is declared than the edit takes it to be.
    pub fn make(&self, number: Number<'_>) -> Result<(), EditError> {
        self.replace(number, self.was, self.value())
    }

    fn replace(&self, number: Number<'_>, old: f64, new: f64) -> Result<(), EditError> {
        number.replace(old, new).map_err(|[found, old]| {
            let found = self.declared().told.replace("{}", &found.to_string());
            EditError(format!("the {} declares {found}, not {old}", S::ENTITY))
        })
    }

    fn in_jobs(&self, jobs: &[S::Job], job: u32, old: f64, new: f64) -> Result<Vec<S::Job>, EditError> {
        let mut jobs = jobs.to_vec();
        let found = jobs.get_mut(job as usize);
        let found = found.ok_or_else(|| EditError(format!("there is no {} {job}", S::ENTITY)))?;
        self.replace((self.declared().of)(found), old, new)?;
        Ok(jobs)
    }
}

impl<S: Declares> Edit for DeclaredEdit<S> {
    type Scenario = S;

    fn sorts() -> Vec<EditInfo> {
        let info = |of: &Declared<S>| EditInfo { name: of.name, meaning: of.meaning, usual: true, is_number: true };
        S::NUMBERS.iter().map(info).collect()
    }

    fn all(jobs: &[S::Job], job: u32, budget: &EditBudget) -> Vec<Self> {
        let Some(mut job) = jobs.get(job as usize).cloned() else { return Vec::new() };
        let mut all = Vec::new();
        for (number, info) in Self::sorts().iter().enumerate().filter(|(_, info)| budget.allows(info)) {
            let was = (S::NUMBERS[number].of)(&mut job).get();
            all.extend(budget.factors(info.name).map(|factor| Self::new(number, was, factor)));
        }
        // Small whole numbers may stay what they are.
        all.retain(|edit| edit.value() != edit.was);
        all
    }

    fn edited(&self, jobs: &[S::Job], job: u32) -> Result<Vec<S::Job>, EditError> {
        self.in_jobs(jobs, job, self.was, self.value())
    }

    fn undone(&self, jobs: &[S::Job], job: u32) -> Result<Vec<S::Job>, EditError> {
        self.in_jobs(jobs, job, self.value(), self.was)
    }

    fn sort(&self) -> &'static str {
        self.declared().name
    }

    fn cost(&self) -> f64 {
        (self.factor - 1.0).abs()
    }

    fn slope(&self) -> Option<([Self; 2], f64)> {
        let (steps, times) = small_steps(self.factor);
        let steps = steps.map(|factor| Self { factor, ..self.clone() });
        // Of small whole numbers such steps come to the same.
        (steps[0].value() != steps[1].value()).then_some((steps, times))
    }
}

impl<S: Declares> fmt::Display for DeclaredEdit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} declares {} times {}", S::ENTITY, self.factor, self.declared().noun)
    }
}

impl<S: Declares> Serialize for DeclaredEdit<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut map = serializer.serialize_map(None)?;
        if S::NUMBERS.len() > 1 {
            map.serialize_entry("edit", self.declared().name)?;
        }
        match self.declared().is_whole {
            true => map.serialize_entry("was", &(self.was as u32))?,
            false => map.serialize_entry("was", &self.was)?,
        }
        map.serialize_entry("factor", &self.factor)?;
        map.end()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    edit: Option<String>,
    was: f64,
    factor: f64,
}

impl<'de, S: Declares> Deserialize<'de> for DeclaredEdit<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Raw { edit, was, factor } = Raw::deserialize(deserializer)?;
        let number = match edit {
            None if S::NUMBERS.len() == 1 => Some(0),
            Some(name) if S::NUMBERS.len() > 1 => S::NUMBERS.iter().position(|of| of.name == name),
            _ => None,
        };
        let number = number.ok_or_else(|| {
            let names: Vec<&str> = S::NUMBERS.iter().map(|of| of.name).collect();
            D::Error::custom(format!(
                "`edit` must be one of {} where there are several, and is left out else",
                names.join(", ")
            ))
        })?;
        if S::NUMBERS[number].is_whole && f64::from(was as u32) != was {
            return Err(D::Error::custom(format!("was must be a whole number, got {was}")));
        }
        Ok(Self::new(number, was, factor))
    }
}
