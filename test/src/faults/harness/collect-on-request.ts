// Loaded into each process of a long run. Collects garbage whenever the parent process asks, and answers then:
// memory that a process could give back is no growth.
process.on('message', (message) => {
  if (message !== 'collect') return
  globalThis.gc?.()
  process.send?.({ type: 'collect' })
})
// A process must end without waiting for further questions.
process.channel?.unref()
