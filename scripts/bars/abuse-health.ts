/** Asks an address again and again, from a process of its own, and prints how long each answer took, a line each. */
const [url = '', every_ms = '20'] = process.argv.slice(2)

for (;;) {
  const before = performance.now()
  const status = await fetch(url)
    .then(async (response) => (await response.text(), response.status))
    .catch(() => 0)
  console.log(`${status} ${performance.now() - before}`)
  await Bun.sleep(Number(every_ms))
}
