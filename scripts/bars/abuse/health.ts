/**
 * Requests an address repeatedly, from its own process, and prints the duration of each response, one per line.
 */
const [url = '', every_ms = '20'] = process.argv.slice(2)

for (;;) {
  const before = performance.now()
  const status = await fetch(url)
    .then(async (response) => (await response.text(), response.status))
    .catch(() => 0)
  console.log(`${status} ${performance.now() - before}`)
  await Bun.sleep(Number(every_ms))
}
