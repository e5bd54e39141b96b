//! Edge cases: families of workloads that strain a scheduler in one way each.

/// A family of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeCase {
    /// Tasks come 32 at once.
    Burst,
    /// One task in twenty is five times as large.
    Giants,
    /// The first application has as many tasks as all others, and they have half.
    Hog,
    /// Half of the users declare half of their size.
    Understated,
}

/// All families with their names and what they are.
pub const EDGE_CASES: &[(&str, &str)] = &[
    ("burst", "tasks of an application come 32 at once"),
    ("giants", "one task in twenty is five times as large"),
    ("hog", "the first application asks as much as all others do together"),
    ("understated", "half of the users declare half of their size"),
];

/// In the order of [`EDGE_CASES`].
pub(super) const CASES: [EdgeCase; 4] = [EdgeCase::Burst, EdgeCase::Giants, EdgeCase::Hog, EdgeCase::Understated];

/// Tasks that come at once.
const AT_ONCE: u32 = 32;

/// One task in so many is changed, and by how much.
const ONE_IN: u32 = 20;
const LARGER: u32 = 5;

impl EdgeCase {
    /// Tasks that come at once.
    pub(super) fn at_once(self) -> u32 {
        if self == Self::Burst { AT_ONCE } else { 1 }
    }

    /// Times what an application asks usually it asks now, of so many.
    pub(super) fn demand(self, application: u32, count: usize) -> f64 {
        match (self, application) {
            (Self::Hog, 0) if count > 1 => count as f64 / 2.0,
            (Self::Hog, _) if count > 1 => count as f64 / (2.0 * (count as f64 - 1.0)),
            _ => 1.0,
        }
    }

    /// The size of a task by its place and its usual one.
    pub(super) fn size(self, place: u32, usual: u32) -> u32 {
        if self == Self::Giants && place % ONE_IN == ONE_IN / 2 { LARGER * usual } else { usual }
    }

    /// Share of users who declare half of their size.
    pub(super) fn understated(self, usual: f64) -> f64 {
        if self == Self::Understated { 0.5 } else { usual }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ServingWorkload;

    #[test]
    fn families_are_what_they_are_called() {
        let tasks =
            |edge: &str| ServingWorkload::open(&format!("builtin,seconds=20{edge}").parse().unwrap()).unwrap().jobs(3);
        let usual = tasks("");
        let near = |a: usize, b: usize| (a as f64 / b as f64 - 1.0).abs() < 0.1;
        let burst = tasks(",edge=burst");
        assert!(near(burst.len(), usual.len()));
        assert_eq!(burst.iter().filter(|task| task.arrival_ms == burst[0].arrival_ms).count(), 32);
        let giants = tasks(",edge=giants").iter().filter(|task| task.application == 2 && task.size == 5).count();
        assert!(near(20 * giants, usual.len() / 5), "{giants}");
        let hog = tasks(",edge=hog");
        assert!(near(hog.len(), usual.len()));
        assert!(near(2 * hog.iter().filter(|task| task.application == 0).count(), hog.len()));
        let halved =
            tasks(",edge=understated").iter().filter(|t| t.application == 0 && t.declared_size < t.size).count();
        assert!(near(2 * halved, usual.len() / 5), "{halved}");
    }
}
