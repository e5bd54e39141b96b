// Decides again what a file of recorded decisions holds: every question must come, and in its order.
macro_rules! replay {
    ($student:ident, $words:expr) => {{
        struct Replay<'a> {
            next: &'a [u32],
            questions: u32,
            rows: Vec<f32>,
        }

        impl $student::Choices for Replay<'_> {
            fn candidates(&mut self, path: &[usize]) -> &[f32] {
                assert!(self.questions > 0 && self.next[0] as usize == path.len());
                let (asked, rest) = self.next[1..].split_at(path.len());
                assert!(asked.iter().zip(path).all(|(a, b)| *a as usize == *b));
                let (rows, rest) = rest[2..].split_at(rest[1] as usize);
                self.rows.clear();
                self.rows.extend(rows.iter().map(|bits| f32::from_bits(*bits)));
                (self.next, self.questions) = (rest, self.questions - 1);
                &self.rows
            }
        }

        let words: &[u32] = $words;
        let (decisions, mut next) = (words[0], &words[1..]);
        let mut scores = Vec::new();
        for i in 0..decisions {
            if i % 16 == 0 {
                scores = vec![0.0; 1];
            }
            let (mut path, mut replay) = ([0; $student::LEVELS], Replay { next, questions: 0, rows: Vec::new() });
            loop {
                (replay.next, replay.questions) = (&next[1..], next[0]);
                match $student::decide(&mut replay, &mut scores, &mut path) {
                    Ok(path) => break path.iter().for_each(|place| print!("{place} ")),
                    Err($student::TooFewScores { needed }) => scores = vec![0.0; needed],
                }
            }
            assert_eq!(replay.questions, 0);
            next = replay.next;
            println!();
        }
    }};
}

/// The words of the file named by an argument.
fn words(argument: usize) -> Vec<u32> {
    let bytes = std::fs::read(std::env::args().nth(argument).unwrap()).unwrap();
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}
