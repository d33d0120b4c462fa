// SPDX-License-Identifier: Apache-2.0

// Command go-cookiejar runs Go's net/http/cookiejar through a workload of ../../cookie-workload.py, as beeline-bench does.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"
)

type entry struct {
	url   *url.URL
	field string
}

func (e entry) store(jar *cookiejar.Jar) {
	response := http.Response{Header: http.Header{"Set-Cookie": {e.field}}}
	jar.SetCookies(e.url, response.Cookies())
}

func header(jar *cookiejar.Jar, u *url.URL) string {
	var text strings.Builder
	for i, c := range jar.Cookies(u) {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(c.Name)
		text.WriteByte('=')
		text.WriteString(c.Value)
	}
	return text.String()
}

func main() {
	lookMilliseconds := flag.Int("look-ms", 400, "how long to look up")
	flag.Int("fill-ms", 6000, "not used")
	flag.Parse()
	file, err := os.Open(flag.Arg(0))
	if err != nil {
		panic(err)
	}
	var meta struct{ Name string }
	var fill, stores []entry
	var looks []*url.URL
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if fields[0] == "M" {
			if err := json.Unmarshal([]byte(fields[1]), &meta); err != nil {
				panic(err)
			}
			continue
		}
		u, err := url.Parse(fields[1])
		if err != nil {
			panic(err)
		}
		switch fields[0] {
		case "L":
			looks = append(looks, u)
		case "F":
			fill = append(fill, entry{url: u, field: fields[2]})
		case "S":
			stores = append(stores, entry{url: u, field: fields[2]})
		}
	}
	// Without a public suffix list, which Go leaves to the caller: it has less to do than we have.
	jar, _ := cookiejar.New(nil)
	start := time.Now()
	for _, e := range fill {
		e.store(jar)
	}
	fillTime := time.Since(start)
	start = time.Now()
	looked, octets := 0, 0
	for time.Since(start) < time.Duration(*lookMilliseconds)*time.Millisecond {
		for i := 0; i < 16; i++ {
			octets += len(header(jar, looks[looked%len(looks)]))
			looked++
		}
	}
	lookTime := time.Since(start)
	start = time.Now()
	for _, e := range stores {
		e.store(jar)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"engine": "go-cookiejar", "version": runtime.Version(), "workload": meta.Name, "n": len(fill),
		"fill_ns": fillTime.Nanoseconds(), "fill_done": len(fill),
		"look_ns": lookTime.Nanoseconds(), "look_done": looked, "bytes": octets,
		"store_ns": time.Since(start).Nanoseconds(), "store_done": len(stores),
	})
}
