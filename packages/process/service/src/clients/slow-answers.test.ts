import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as nextCycle } from 'node:timers/promises'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { clientPolicy } from './policy.ts'
import { watchAnswers } from './slow-answers.ts'
import { until } from './until.fixture.ts'

// Sockets are real. The clock is not: each test says how much time passes between two states of the connection.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const { minimumBytesPerSecond, graceMs } = clientPolicy.answer
/** More than the buffers of the kernel take. */
const answerBytes = 20 * 2 ** 20

/** Opens a connection with a request whose answer is watched. The client reads only what a test reads. */
async function beginAnswer() {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const arrival = once(server, 'request') as Promise<[IncomingMessage, ServerResponse]>
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  onTestFinished(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [, response] = await arrival
  watchAnswers(clientPolicy.answer)(response)
  return {
    response,
    answer: () => response.end(Buffer.alloc(answerBytes)),
    /** Reads this many bytes, unless the answer is closed before. */
    async read(bytes: number) {
      await until(() => client.read(bytes) !== null || response.closed)
      // The server writes what the kernel has room for now.
      for (let cycle = 0; cycle < 5; cycle++) await nextCycle()
    },
  }
}

/** Reads at a rate for a time, or until the answer is closed. */
async function readFor(
  seconds: number,
  bytesPerSecond: number,
  { read, response }: Awaited<ReturnType<typeof beginAnswer>>,
) {
  for (let second = 0; second < seconds && !response.closed; second++) {
    await read(bytesPerSecond)
    vi.advanceTimersByTime(1_000)
    await nextCycle()
  }
}

test('an answer that nobody reads is ended after the grace period', async () => {
  const { answer, response } = await beginAnswer()
  answer()
  await nextCycle()
  vi.advanceTimersByTime(graceMs - 2_000)
  expect(response.req.socket.destroyed).toBe(false)
  vi.advanceTimersByTime(3_000)
  await until(() => response.closed)
  expect(response.writableFinished).toBe(false)
})

test('a client that reads too slowly loses the answer, however regularly it reads', async () => {
  const reading = await beginAnswer()
  reading.answer()
  await readFor((4 * graceMs) / 1_000, minimumBytesPerSecond / 10, reading)
  await until(() => reading.response.closed)
  expect(reading.response.writableFinished).toBe(false)
})

test('a slow client above the least rate gets the whole answer, although the kernel takes it in large steps', async () => {
  const reading = await beginAnswer()
  reading.answer()
  await readFor(answerBytes / minimumBytesPerSecond, 1.5 * minimumBytesPerSecond, reading)
  expect(reading.response.writableFinished).toBe(true)
})

test('the time before the first byte, and between bytes that the client has taken, does not count', async () => {
  const { response, answer, read } = await beginAnswer()
  vi.advanceTimersByTime(10 * graceMs)
  response.write('first')
  await until(() => response.req.socket.writableLength === 0)
  vi.advanceTimersByTime(10 * graceMs)
  answer()
  await read(answerBytes)
  await until(() => response.closed)
  expect(response.writableFinished).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})
