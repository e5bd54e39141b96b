//! Numbers in as little memory as holds them exactly.

/// Numbers of which there are many, and which are looked up at random places: those that f32 holds exactly, such as whole milliseconds of up
/// to 4.6 hours, are kept in half the space, of which more is in the processor's caches.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Values {
    Short(Box<[f32]>),
    Long(Box<[f64]>),
}

impl From<Vec<f64>> for Values {
    fn from(values: Vec<f64>) -> Self {
        match values.iter().all(|&v| f64::from(v as f32) == v) {
            true => Self::Short(values.into_iter().map(|v| v as f32).collect()),
            false => Self::Long(values.into()),
        }
    }
}

impl Values {
    #[inline]
    pub(super) fn get(&self, i: u32) -> f64 {
        match self {
            Self::Short(values) => f64::from(values[i as usize]),
            Self::Long(values) => values[i as usize],
        }
    }

    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Short(values) => values.len() as u32,
            Self::Long(values) => values.len() as u32,
        }
    }
}
