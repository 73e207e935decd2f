// Command promptkit is the side of PromptKit in the bench of agents: it runs many conversations at once, each with a tool call and a streamed
// answer, and prints what they took as weigh.ts does. It takes the place of the main.go of PromptKit's own benchmark when it is built.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/AltairaLabs/PromptKit/runtime/logger"
	"github.com/AltairaLabs/PromptKit/runtime/providers"
	"github.com/AltairaLabs/PromptKit/runtime/providers/openai"
	"github.com/AltairaLabs/PromptKit/sdk"
)

// A load is what weigh.ts takes.
type load struct {
	URL    string `json:"url"`
	AtOnce int    `json:"atOnce"`
	Runs   int    `json:"runs"`
	Pieces int    `json:"pieces"`
}

const pack = `{
  "$schema": "https://promptpack.org/schema/latest/promptpack.schema.json",
  "id": "bench", "name": "Bench", "version": "1.0.0", "description": "The weather",
  "template_engine": { "version": "v1", "syntax": "{{variable}}" },
  "prompts": { "chat": { "id": "chat", "name": "Chat", "version": "1.0.0", "tools": ["weather"],
    "system_template": "You answer in one sentence. You look up the weather before you speak of it." } },
  "tools": { "weather": { "name": "weather", "description": "Says what the weather is in a city.",
    "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } } }
}`

func main() {
	// The other sides log nothing.
	logger.SetLevel(slog.LevelError)
	var wanted load
	must(json.Unmarshal([]byte(os.Args[1]), &wanted))
	folder, err := os.MkdirTemp("", "toolweave-bench-")
	must(err)
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "bench.pack.json")
	must(os.WriteFile(file, []byte(pack), 0o600))
	// As many idle connections as there are runs at once, as the other sides keep them.
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: 4_096}}
	provider := openai.NewProvider("bench", "bench", wanted.URL, providers.ProviderDefaults{}, false)
	toolURL := strings.TrimSuffix(wanted.URL, "/v1") + "/tool"
	once := func() time.Duration { return run(file, provider, client, toolURL, wanted.Pieces) }

	all(min(wanted.AtOnce, 20), min(wanted.Runs, 20), once)
	before, began := processorTime(), time.Now()
	firstTexts := all(wanted.AtOnce, wanted.Runs, once)
	wall := time.Since(began)
	runs := float64(wanted.Runs)
	sort.Slice(firstTexts, func(one, other int) bool { return firstTexts[one] < firstTexts[other] })
	must(json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"peakBytes": peakBytes(),
		"cpu":       float64((processorTime() - before).Microseconds()) / runs,
		"wall":      float64(wall.Microseconds()) / runs,
		"firstText": float64(firstTexts[len(firstTexts)/2].Microseconds()),
	}))
}

func run(file string, provider providers.Provider, client *http.Client, toolURL string, pieces int) time.Duration {
	began := time.Now()
	conversation, err := sdk.Open(file, "chat", sdk.WithProvider(provider))
	must(err)
	defer conversation.Close()
	conversation.OnTool("weather", func(map[string]any) (any, error) {
		response, err := client.Post(toolURL, "application/json", bytes.NewReader([]byte("{}")))
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		var result any
		err = json.Unmarshal(body, &result)
		return result, err
	})
	var first time.Duration
	var text strings.Builder
	for chunk := range conversation.Stream(context.Background(), "What is the weather in Bern?") {
		must(chunk.Error)
		if chunk.Type != sdk.ChunkText || chunk.Text == "" {
			continue
		}
		if first == 0 {
			first = time.Since(began)
		}
		text.WriteString(chunk.Text)
	}
	// A side that gives less than it should would look fast.
	if !strings.HasSuffix(strings.TrimSpace(text.String()), fmt.Sprintf("word%d", pieces-1)) {
		must(fmt.Errorf("the answer is not whole: %q", text.String()))
	}
	return first
}

func all(atOnce, runs int, once func() time.Duration) []time.Duration {
	left := make(chan struct{}, runs)
	for range runs {
		left <- struct{}{}
	}
	close(left)
	var lock sync.Mutex
	var group sync.WaitGroup
	times := make([]time.Duration, 0, runs)
	for range atOnce {
		group.Go(func() {
			for range left {
				took := once()
				lock.Lock()
				times = append(times, took)
				lock.Unlock()
			}
		})
	}
	group.Wait()
	return times
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func peakBytes() float64 {
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	found := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
	kilobytes, err := strconv.ParseFloat(string(found[1]), 64)
	must(err)
	return kilobytes * 1_024
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
