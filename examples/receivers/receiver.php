<?php
// FORUMD_SECRET=whsec_… FORUMD_SEEN=/var/lib/alerts php -S 127.0.0.1:9000 receiver.php

/** Verifies that the raw $body was signed with $secret, at most 300 s from $now_s. */
function verify(string $secret, string $header, string $body, int $now_s): bool
{
    $pairs = array_map(fn ($part) => explode('=', $part, 2) + ['', ''], explode(',', $header));
    $t = array_column($pairs, 1, 0)['t'] ?? '';
    if (!preg_match('/^[0-9]{1,12}$/D', $t) || abs($now_s - (int) $t) > 300) {
        return false;
    }
    if ($secret === '') { // Anyone could sign with an empty secret.
        return false;
    }
    $wanted = hash_hmac('sha256', "$t.$body", $secret);
    foreach ($pairs as [$name, $value]) {
        if ($name === 'v1' && hash_equals($wanted, $value)) {
            return true;
        }
    }
    return false;
}

$body = file_get_contents('php://input');
$header = $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '';
if (!verify(getenv('FORUMD_SECRET'), $header, $body, time())) {
    http_response_code(401);
    return;
}
$delivery = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
// One file per id; a table with a unique key works too. An id has only letters, digits and "_".
$seen = fopen(getenv('FORUMD_SEEN') . "/$delivery[delivery_id]", 'c');
flock($seen, LOCK_EX);
if (fstat($seen)['size'] === 0) {
    foreach ($delivery['items'] as $item) {
        file_put_contents('php://stdout', "$delivery[delivery_id] " . ($item['title'] ?? $item['body']) . "\n");
    }
    fwrite($seen, "done\n");
}
http_response_code(204);
