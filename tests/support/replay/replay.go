// Decides again what files of recorded decisions hold: every question must come, and in its order.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"testing"
)

type decide func(candidates func(path []int) []float32, scores []float64, path []int) int

type replay struct {
	next      []uint32
	questions int
	rows      []float32
}

func check(holds bool, what string) {
	if !holds {
		panic(what)
	}
}

func (r *replay) begin(next []uint32) {
	r.questions, r.next = int(next[0]), next[1:]
}

func (r *replay) candidates(path []int) []float32 {
	check(r.questions > 0 && int(r.next[0]) == len(path), "another question")
	r.questions--
	r.next = r.next[1:]
	for i, place := range path {
		check(int(r.next[i]) == place, "another path")
	}
	r.next = r.next[len(path)+1:]
	n := int(r.next[0])
	r.rows = r.rows[:0]
	for _, bits := range r.next[1 : n+1] {
		r.rows = append(r.rows, math.Float32frombits(bits))
	}
	r.next = r.next[n+1:]
	return r.rows
}

var out = bufio.NewWriter(os.Stdout)

// The recording is the file that is named by an argument.
func run(argument, levels int, decide decide) {
	bytes, err := os.ReadFile(os.Args[argument])
	check(err == nil, "no file")
	words := make([]uint32, len(bytes)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
	decisions := int(words[0])
	first := words[1:]
	path := make([]int, levels)
	most, capacity := 1, 1
	r := replay{next: first}
	candidates := r.candidates
	for i := 0; i < decisions; i++ {
		if i%16 == 0 {
			capacity = 1
		}
		begin := r.next
		depth := -capacity
		for depth < 0 {
			capacity = -depth
			if capacity > most {
				most = capacity
			}
			r.begin(begin)
			depth = decide(candidates, make([]float64, capacity), path)
		}
		check(r.questions == 0, "a question too few")
		for _, place := range path[:depth] {
			fmt.Fprint(out, place, " ")
		}
		fmt.Fprintln(out)
	}
	// Once more, with room enough and to spare: nothing is allocated.
	scores := make([]float64, most)
	again := decisions
	if again > 60 {
		again = 60
	}
	allocations := testing.AllocsPerRun(1, func() {
		r.next = first
		for i := 0; i < again; i++ {
			r.begin(r.next)
			check(decide(candidates, scores, path) >= 0 && r.questions == 0, "another answer")
		}
	})
	check(allocations == 0, fmt.Sprint(allocations, " allocations"))
}

func main() {
	defer out.Flush()
	all()
}
