// npm run test:fuzz: sends generated inputs to every reader of untrusted bytes, then generated requests to the servers.
// Options: `--seed 7`, `--inputs 1000000`, `--requests 100000`, `--target json,api` (names of readers and servers),
// `--bytes <base64>` (one input of a reader), `--request 1234` (one request of a server).
import { parseArgs } from 'node:util'
import { openCoverage } from './readers/coverage.ts'
import { checkInput, fuzz, type Violation } from './readers/fuzz.ts'
import { inputsOf, targets } from './readers/targets.ts'
import { fuzzServers, type ServerReport } from './servers/run.ts'

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
if (values.bytes !== undefined) {
  for (const target of readers) report(await checkInput(target, Buffer.from(values.bytes, 'base64')))
} else {
  await fuzzReaders()
  if (['api', 'dashboard', 's3-gateway'].some(isChosen)) await fuzzAllServers()
}
console.log(violations === 0 ? 'no violations' : `${violations} violations`)
process.exitCode = violations === 0 ? 0 : 1

async function fuzzReaders(): Promise<void> {
  const coverage = openCoverage()
  let all = 0
  for (const target of readers) {
    const run = await fuzz(target, { inputs: inputsOf(target, Number(values.inputs)), seed, coverage })
    all += run.inputs
    console.log(`${target.name.padEnd(20)} ${run.inputs} inputs, ${run.found} reached new code, ${run.seconds} s`)
    report(run.violation)
  }
  coverage.close()
  if (readers.length > 0) console.log(`${all} inputs in all`)
}

async function fuzzAllServers(): Promise<void> {
  const only = values.request === undefined ? undefined : Number(values.request)
  await fuzzServers({ requests: Number(values.requests), seed, chosen: names, only }, reportServer)
}

function report(violation: Violation | undefined): void {
  if (violation === undefined) return
  violations++
  const { target, input, error } = violation
  console.log(`VIOLATION of ${target}: repeat with --target ${target} --bytes ${input.toString('base64')}`)
  console.log(error)
}

function reportServer({ server, requests, statuses, memory, seconds, problems }: ServerReport): void {
  const counts = [...statuses]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${status || 'closed'}: ${count}`)
  const mebibytes = memory.map((bytes) => Math.round(bytes / 2 ** 20)).join(' ')
  console.log(`${server.padEnd(20)} ${requests} requests, ${counts.join(', ')}; memory ${mebibytes} MiB; ${seconds} s`)
  violations += problems.length
  for (const problem of problems) console.log(`VIOLATION of ${server}: ${problem}`)
}
