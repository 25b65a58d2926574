// Loaded into each process of a long run. Collects garbage and answers with the resident memory, bytes, whenever the
// parent process asks: memory that a process could give back is no growth.
process.on('message', (message) => {
  if (message !== 'memory') return
  globalThis.gc?.()
  process.send?.({ type: 'memory', bytes: process.memoryUsage.rss() })
})
// A process must end without waiting for further questions.
process.channel?.unref()
