// FORUMD_SECRET=whsec_… PORT=9000 go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// verify reports whether the raw body was signed with secret, at most 300 s from now.
func verify(secret, header string, body []byte, now int64) bool {
	var t string
	var given []string
	for _, part := range strings.Split(header, ",") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "t":
			t = value
		case "v1":
			given = append(given, value)
		}
	}
	at, err := strconv.ParseUint(t, 10, 40)
	if err != nil || now-int64(at) > 300 || int64(at)-now > 300 {
		return false
	}
	if secret == "" { // Anyone could sign with an empty secret.
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	wanted := hex.EncodeToString(mac.Sum(nil))
	for _, value := range given {
		if hmac.Equal([]byte(value), []byte(wanted)) {
			return true
		}
	}
	return false
}

type delivery struct {
	ID    string `json:"delivery_id"`
	Items []struct{ Title, Body string }
}

// seen holds the processed ids. In production store them durably, such as in a table with a unique key.
var seen sync.Map

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	header := r.Header.Get("x-service-signature")
	if err != nil || !verify(os.Getenv("FORUMD_SECRET"), header, body, time.Now().Unix()) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var it delivery
	if err := json.Unmarshal(body, &it); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if _, again := seen.LoadOrStore(it.ID, true); !again {
		for _, item := range it.Items {
			fmt.Println(it.ID, item.Title+item.Body)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(receive)))
}
