// Lists, calls, gets and reads with the client of the Go SDK, and prints the outcome as JSON.
//
// Arguments: the revision to ask for, or "default"; then a URL and a token, or the command of a server.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type bearer string

func (token bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(request)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func transport(first string, rest []string) mcp.Transport {
	if strings.HasPrefix(first, "http") {
		return &mcp.StreamableClientTransport{Endpoint: first, HTTPClient: &http.Client{Transport: bearer(rest[0])}}
	}
	command := exec.Command(first, rest...)
	command.Stderr = os.Stderr
	return &mcp.CommandTransport{Command: command}
}

func main() {
	ctx := context.Background()
	options := &mcp.ClientSessionOptions{}
	if os.Args[1] != "default" {
		options.ProtocolVersion = os.Args[1]
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1.0.0"}, nil)
	session := must(client.Connect(ctx, transport(os.Args[2], os.Args[3:]), options))
	outcome := map[string]any{"protocol": session.InitializeResult().ProtocolVersion}
	var tools, prompts, texts, resources []string
	for _, tool := range must(session.ListTools(ctx, nil)).Tools {
		tools = append(tools, tool.Name)
	}
	called := must(session.CallTool(ctx, &mcp.CallToolParams{Name: "sum", Arguments: map[string]any{"a": 1, "b": 2}}))
	for _, prompt := range must(session.ListPrompts(ctx, nil)).Prompts {
		prompts = append(prompts, prompt.Name)
	}
	arguments := map[string]string{"name": "Ada", "times": "3"}
	for _, message := range must(session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: arguments})).Messages {
		texts = append(texts, message.Content.(*mcp.TextContent).Text)
	}
	for _, resource := range must(session.ListResources(ctx, nil)).Resources {
		resources = append(resources, resource.URI)
	}
	read := must(session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "text:note"}))
	outcome["tools"], outcome["called"], outcome["prompts"], outcome["prompt"] = tools, called.StructuredContent, prompts, texts
	outcome["resources"], outcome["read"] = resources, read.Contents[0].Text
	if err := session.Close(); err != nil {
		log.Fatal(err)
	}
	must(0, json.NewEncoder(os.Stdout).Encode(outcome))
}
