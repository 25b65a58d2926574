// Loaded into each process of a long run. Collects garbage whenever the parent process asks, and tells what is left:
// memory that a process could give back is no growth. Only a collection of last resort gives empty pages back to the
// system. After any other one, a process keeps up to a third more of its memory for an hour, and then none of it.
process.on('message', (message) => {
  if (message !== 'collect') return
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  process.send?.({ type: 'collect', heapBytes: process.memoryUsage().heapUsed })
})
// A process must end without waiting for further questions.
process.channel?.unref()
