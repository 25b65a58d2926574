import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { runTool } from './run-tool.ts'
import { failuresOf, summaryOf } from './tests/results.ts'

// npm run test:repeat [-- --times 20] [--busy 6]: runs npm test that often, beside so many threads that never rest.
// Prints the time and the failed tests of each run. Exits with code 1 if a run failed.
const { values } = parseArgs({
  options: { times: { type: 'string', default: '20' }, busy: { type: 'string', default: '0' } },
})
const times = toCount(values.times)
const busy = toCount(values.busy)
const loops = Array.from({ length: busy }, () => new Worker('for (;;) {}', { eval: true }))

const lines: string[] = []
let failed = 0
for (let run = 1; run <= times; run++) {
  const began = performance.now()
  const code = await runTool('node', ['scripts/test.ts'])
  const seconds = Math.round((performance.now() - began) / 1000)
  if (code !== 0) failed++
  lines.push(`run ${run}, ${seconds} s: ${await summaryOf(['fast'])}`, ...(await failuresOf(['fast'])))
  console.log(`\n${lines.join('\n')}\n`)
}
await Promise.all(loops.map((loop) => loop.terminate()))
console.log(`${failed} of ${times} runs failed, beside ${busy} busy loops`)
process.exitCode = failed > 0 ? 1 : 0

function toCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`${JSON.stringify(text)} is not a whole number`)
  return Number(text)
}
