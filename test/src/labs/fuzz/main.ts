// npm run test:fuzz: sends generated inputs to every reader of untrusted bytes, then generated requests to the servers.
// Options: `--seed 7`, `--inputs 1000000`, `--requests 100000`, `--target json,api` (names of readers and servers),
// `--bytes <base64>` (one input of a reader), `--request 1234` (one request of a server).
import { parseArgs } from 'node:util'
import { checkInput, fuzz } from './readers/target.ts'
import { targets } from './readers/targets.ts'
import { fuzzServers } from './servers/run.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    inputs: { type: 'string', default: '1000000' },
    requests: { type: 'string', default: '100000' },
    target: { type: 'string' },
    bytes: { type: 'string' },
    request: { type: 'string' },
  },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const names = values.target?.split(',')
const isChosen = (name: string) => names === undefined || names.includes(name)
const readers = targets.filter(({ name }) => isChosen(name))

console.log(`seed ${seed}`)
let violations = 0
for (const target of readers) {
  if (values.bytes !== undefined) {
    await checkInput(target, Buffer.from(values.bytes, 'base64'))
    continue
  }
  const begun = performance.now()
  const inputs = Math.ceil(Number(values.inputs) / targets.length)
  const violation = await fuzz(target, { inputs, seed })
  console.log(`${target.name.padEnd(20)} ${inputs} inputs, ${Math.round((performance.now() - begun) / 1000)} s`)
  if (violation === undefined) continue
  violations++
  const repetition = `--target ${target.name} --bytes ${violation.input.toString('base64')}`
  console.log(`VIOLATION of ${target.name}: repeat with ${repetition}`, violation.error)
}
if (values.bytes === undefined && ['api', 'dashboard', 's3-gateway'].some(isChosen)) {
  const only = values.request === undefined ? undefined : Number(values.request)
  const options = { requests: Number(values.requests), seed, isChosen, only }
  for await (const { server, figures, problems } of fuzzServers(options)) {
    console.log(`${server.padEnd(20)} ${figures}`)
    violations += problems.length
    for (const problem of problems) console.log(`VIOLATION of ${server}: ${problem}`)
  }
}
console.log(violations === 0 ? 'no violations' : `${violations} violations`)
process.exitCode = violations === 0 ? 0 : 1
