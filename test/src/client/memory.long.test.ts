import { truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listenOn } from '../environment/free-port.ts'
import { runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'

const fileBytes = 2 ** 30

/**
 * Peak of the client's process, MiB. With `fetch` as it is, the process would hold the whole file. An upload of any
 * size takes 145 MiB.
 */
const peakLimit = 300

/** Starts a server that answers the first request, and reads an upload without keeping it. */
async function startDrain() {
  let received = 0
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      if (request.method === 'PUT') received += chunk.length
    })
    request.on('end', () => {
      const headers = { 'Content-Type': 'text/csv', 'Content-MD5': 'x' }
      const descriptor = { direct_upload: { url: `http://${request.headers.host}/upload`, headers } }
      response.writeHead(200, { 'X-Import-Id': crypto.randomUUID() }).end(JSON.stringify(descriptor))
    })
  })
  const port = await listenOn(server)
  return {
    url: `http://127.0.0.1:${port}`,
    received: () => received,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

test('the memory of an upload does not grow with the file', async () => {
  await using server = await startDrain()
  await using scratch = await openScratch('sluice-client-memory-')
  const file = join(scratch.path, 'big.csv')
  await writeFile(file, '')
  await truncate(file, fileBytes)
  const program = `
    import { openAsBlob, readFileSync } from 'node:fs'
    import { Sluice } from '@sluice/client'
    const [api, file] = process.argv.slice(1)
    await new Sluice({ api, token: 't' }).upload(await openAsBlob(file))
    // \`maxRSS\` counts the parent's memory as well, from before the program was loaded.
    const [, peakKb] = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))
    console.log(peakKb / 1024)
  `
  const args = ['--input-type=module', '--eval', program, server.url, file]
  const { code, output } = await runProgram(process.execPath, args, { cwd: join(import.meta.dirname, '../../..') })
  expect(code, output).toBe(0)
  expect(server.received()).toBe(fileBytes)
  expect(Number(output)).toBeLessThan(peakLimit)
})
