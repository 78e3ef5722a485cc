// Run: go run verify.go PUBLIC_KEY ID TIMESTAMP SIGNATURE < body
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// verify reports whether the raw body was signed with the private key of publicKey, at most 300 s from now.
func verify(publicKey, id, timestamp, signature string, body []byte, now int64) bool {
	at, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil || now-int64(at) > 300 || int64(at)-now > 300 {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(publicKey, "whpk_"))
	if !strings.HasPrefix(publicKey, "whpk_") || err != nil || len(key) != ed25519.PublicKeySize {
		return false
	}
	signed := append([]byte(id+"."+timestamp+"."), body...)
	for _, part := range strings.Split(signature, " ") {
		version, value, _ := strings.Cut(part, ",")
		given, err := base64.StdEncoding.DecodeString(value)
		if version == "v1a" && err == nil && ed25519.Verify(key, signed, given) {
			return true
		}
	}
	return false
}

func main() {
	body, err := io.ReadAll(os.Stdin)
	if err != nil || len(os.Args) != 5 || !verify(os.Args[1], os.Args[2], os.Args[3], os.Args[4], body, time.Now().Unix()) {
		os.Exit(1)
	}
}
