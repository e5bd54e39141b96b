// Times decisions of a recording: prints ns a decision in the fastest round, and the sum of all paths.
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"scheduler/student"
)

func main() {
	bytes, _ := os.ReadFile(os.Args[1])
	rounds, _ := strconv.Atoi(os.Args[2])
	words := make([]uint32, len(bytes)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
	decisions := int(words[0])
	var all [][]float32
	for words = words[1:]; len(words) > 0; {
		left := words[0]
		for words = words[1:]; left > 0; left-- {
			rows := make([]float32, words[1])
			for i := range rows {
				rows[i] = math.Float32frombits(words[2+i])
			}
			all = append(all, rows)
			words = words[2+len(rows):]
		}
	}
	next := 0
	candidates := func([]int) []float32 {
		next++
		return all[next-1]
	}
	scores := make([]float64, 100000)
	var path [student.Levels]int
	least, sum := math.Inf(1), 0
	for round := 0; round < rounds; round++ {
		next, sum = 0, 0
		start := time.Now()
		for i := 0; i < decisions; i++ {
			depth := student.Decide(candidates, scores, &path)
			for _, place := range path[:depth] {
				sum += place
			}
		}
		least = math.Min(least, float64(time.Since(start).Nanoseconds())/float64(decisions))
	}
	fmt.Printf("%.1f %d\n", least, sum)
}
