//! A batch of decisions as index lists: which rows of the network's inputs meet where.

use sched_distill_judge::practice::Practice;

/// A decision of a practice episode: the episode, and its number there.
pub(super) type Place = (u32, u32);

/// What an update knows of decisions beside the episodes themselves: per episode and decision.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    /// How much better than expected it came out, in standard deviations.
    pub(super) advantages: Vec<Vec<f32>>,
    /// What the state is to be valued at.
    pub(super) worths: Vec<Vec<f32>>,
}

/// Decisions and everything that the network needs to know of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Batch {
    pub(super) decisions: i64,
    pub(super) levels: Vec<LevelBatch>,
    /// Log-probability when it was decided.
    pub(super) old: Vec<f32>,
    pub(super) advantage: Vec<f32>,
    pub(super) worth: Vec<f32>,
}

/// The choices of a level.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LevelBatch {
    /// Rows of all candidates.
    pub(super) x: Vec<f32>,
    /// Choice of each row.
    pub(super) choice: Vec<i64>,
    /// By choice its number of candidates.
    pub(super) count: Vec<f32>,
    /// Place of each row in a table with a line per choice, row-major, and the length of the longest line.
    pub(super) place: Vec<i64>,
    pub(super) width: i64,
    /// By choice which entry of its line is to be learned from, and which row that is.
    pub(super) target: Vec<i64>,
    pub(super) taken: Vec<i64>,
    /// By choice its decision, and the choice of that at the level above.
    pub(super) decision: Vec<i64>,
    pub(super) above: Vec<i64>,
}

impl Batch {
    /// These decisions; without findings there is nothing but the decisions to be learned.
    pub(super) fn new(episodes: &[Practice], findings: Option<&Findings>, places: &[Place]) -> Self {
        let levels = episodes.first().map_or(0, |e| e.levels.len());
        let mut batch = Self {
            decisions: places.len() as i64,
            levels: vec![LevelBatch { width: 1, ..LevelBatch::default() }; levels],
            ..Self::default()
        };
        for (d, &(episode, step)) in places.iter().enumerate() {
            let (e, s) = (&episodes[episode as usize], step as usize);
            let mut above = 0;
            for (into, level) in batch.levels.iter_mut().zip(&e.levels) {
                let Some(choice) = level.choice_of(step) else { break };
                above = into.push(level.rows(choice), level.width, level.taken[choice], (d, above));
            }
            batch.old.push(e.steps[s].log_prob);
            let of = |list: fn(&Findings) -> &Vec<Vec<f32>>| findings.map_or(0.0, |f| list(f)[episode as usize][s]);
            batch.advantage.push(of(|f| &f.advantages));
            batch.worth.push(of(|f| &f.worths));
        }
        for level in &mut batch.levels {
            level.lay_out();
        }
        batch
    }
}

impl LevelBatch {
    /// Adds a choice; its number.
    fn push(&mut self, rows: &[f32], width: usize, taken: u32, (decision, above): (usize, i64)) -> i64 {
        let (choice, first, n) = (self.count.len() as i64, self.choice.len() as i64, rows.len() / width);
        self.x.extend_from_slice(rows);
        self.choice.extend(std::iter::repeat_n(choice, n));
        self.count.push(n as f32);
        self.width = self.width.max(n as i64);
        self.target.push(i64::from(taken));
        self.taken.push(first + i64::from(taken));
        self.decision.push(decision as i64);
        self.above.push(above);
        choice
    }

    /// Works out the places in the table, once the longest line is known.
    fn lay_out(&mut self) {
        let mut within = 0;
        let mut before = -1;
        for &choice in &self.choice {
            within = if choice == before { within + 1 } else { 0 };
            before = choice;
            self.place.push(choice * self.width + within);
        }
    }
}
