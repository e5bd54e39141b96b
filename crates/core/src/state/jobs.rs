//! Jobs by number.

use super::{StateError, arrives, few};
use std::ops::{Deref, DerefMut};

/// What has a number and arrives at a time.
pub trait Arrives {
    /// Its number, and when it arrives: ms, or slots.
    fn arrival(&self) -> (u32, f64);
}

/// Jobs by number, which ascend in order of arrival. Those that are yet to come, which only a simulator has, stand behind those that have
/// arrived.
#[derive(Clone, Debug)]
pub struct Jobs<J> {
    all: Vec<J>,
    /// How many of them have arrived.
    pub arrived: u32,
    /// How many others have that are not kept any more.
    pub gone: u32,
}

impl<J> From<Vec<J>> for Jobs<J> {
    /// Jobs that are yet to come.
    fn from(all: Vec<J>) -> Self {
        Self { all, arrived: 0, gone: 0 }
    }
}

impl<J> Deref for Jobs<J> {
    type Target = Vec<J>;

    #[inline]
    fn deref(&self) -> &Vec<J> {
        &self.all
    }
}

impl<J> DerefMut for Jobs<J> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<J> {
        &mut self.all
    }
}

impl<J: Arrives> Jobs<J> {
    /// Those that have arrived and are kept.
    #[inline]
    #[must_use]
    pub fn here(&self) -> &[J] {
        &self.all[..self.arrived as usize]
    }

    /// How many have arrived so far, those included that are not kept any more.
    #[must_use]
    pub fn arrived_so_far(&self) -> u32 {
        self.arrived.saturating_add(self.gone)
    }

    /// How many of them are gone where so many are told of.
    #[must_use]
    pub fn gone_but(&self, told: usize) -> u32 {
        self.gone.saturating_add(self.arrived - told as u32)
    }

    /// One that has arrived, and its place.
    #[inline]
    fn entry(&self, number: u32) -> Option<(usize, &J)> {
        let arrived = self.here();
        match arrived.get(number as usize) {
            // So it is in a simulator.
            Some(job) if job.arrival().0 == number => Some((number as usize, job)),
            _ => {
                let place = arrived.binary_search_by_key(&number, |job| job.arrival().0).ok()?;
                Some((place, &arrived[place]))
            }
        }
    }

    /// One that has arrived.
    #[inline]
    #[must_use]
    pub fn find(&self, number: u32) -> Option<&J> {
        self.entry(number).map(|(_, job)| job)
    }

    /// The place of one that has arrived.
    #[inline]
    #[must_use]
    pub fn index(&self, number: u32) -> Option<usize> {
        self.entry(number).map(|(place, _)| place)
    }

    /// The place of one that has arrived.
    ///
    /// # Errors
    ///
    /// There is none of this number.
    pub fn known(&self, number: u32) -> Result<usize, StateError> {
        self.index(number).ok_or_else(|| {
            let known = few(self.here().iter().map(|job| job.arrival().0));
            StateError::new(format!("job {number}"), format!("is unknown; known are {known}"))
        })
    }

    /// The number and the arrival of the one that was added last.
    #[must_use]
    pub fn last_arrival(&self) -> Option<(u32, f64)> {
        self.all.last().map(J::arrival)
    }

    /// Checks that a job may be added: its number, and its arrival by its name.
    ///
    /// # Errors
    ///
    /// A number or an arrival before that of the one added last.
    pub fn check_next(&self, number: u32, field: &str, arrival: f64) -> Result<(), StateError> {
        arrives("job", (number, arrival), field, self.last_arrival())
    }

    /// Adds one that arrives now.
    pub fn add(&mut self, job: J) {
        self.all.push(job);
        self.arrived += 1;
    }

    /// Takes one out that has arrived.
    pub fn forget(&mut self, place: usize) -> J {
        self.arrived -= 1;
        self.gone = self.gone.saturating_add(1);
        self.all.remove(place)
    }

    /// Keeps of those that have arrived the ones that are still there, and nothing of those that are yet to come.
    pub fn keep(&mut self, is_there: impl Fn(&J) -> bool) {
        self.all.truncate(self.arrived as usize);
        self.all.retain(is_there);
        self.gone = self.gone_but(self.all.len());
        self.arrived = self.all.len() as u32;
    }
}
