import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type BodyLimits, type BodyWatch, SlowBody, watchBody } from './slow-bodies.ts'
import { until } from './until.fixture.ts'

// Sockets are real. The clock is not: each test says how much time passes between two states of the connection.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const limits: BodyLimits = { minimumBytesPerSecond: 1_000, graceMs: 10_000, totalMs: 3_600_000 }

interface Sending {
  socket: Socket
  request: IncomingMessage
  watch: BodyWatch
  /** Sends bytes and waits until the server's socket has read them. */
  sendBytes(count: number): Promise<void>
}

/** Begins a request with a body of 1 GB. The server reads the body, unless `reads` is false. */
async function beginBody(own: Partial<BodyLimits> = {}, { reads = true } = {}): Promise<Sending> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const arrival = once(server, 'request') as Promise<[IncomingMessage]>
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  socket.write('PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n')
  const [request] = await arrival
  request.on('error', () => {})
  if (reads) request.resume()
  const watch = watchBody(request, { ...limits, ...own })
  return {
    socket,
    request,
    watch,
    async sendBytes(count) {
      const expected = request.socket.bytesRead + count
      socket.write(Buffer.alloc(count))
      await until(() => request.socket.bytesRead >= expected)
    },
  }
}

const reasonOf = ({ watch }: Sending): unknown => watch.signal.reason

test('a client that sends nothing is too slow after the grace period', async () => {
  const sending = await beginBody()
  vi.advanceTimersByTime(9_000)
  expect(sending.watch.signal.aborted).toBe(false)
  vi.advanceTimersByTime(1_000)
  expect(reasonOf(sending)).toBeInstanceOf(SlowBody)
  expect(reasonOf(sending)).toMatchObject({ limit: 'throughput' })
})

test('a client that sends slowly is too slow, however regularly it sends', async () => {
  const sending = await beginBody()
  for (let second = 0; second < 12; second += 1) {
    await sending.sendBytes(100)
    vi.advanceTimersByTime(1_000)
  }
  expect(reasonOf(sending)).toMatchObject({ limit: 'throughput' })
})

test('a client that sends at the minimum rate may take as long as the limit for the whole body', async () => {
  const sending = await beginBody({ totalMs: 100_000 })
  for (let second = 0; second < 99; second += 1) {
    await sending.sendBytes(1_000)
    vi.advanceTimersByTime(1_000)
  }
  expect(sending.watch.signal.aborted).toBe(false)
  await sending.sendBytes(1_000)
  vi.advanceTimersByTime(1_000)
  expect(reasonOf(sending)).toMatchObject({ limit: 'total' })
})

test('bytes that were sent early extend the grace period by nothing', async () => {
  const sending = await beginBody()
  await sending.sendBytes(1_000_000)
  vi.advanceTimersByTime(9_000)
  expect(sending.watch.signal.aborted).toBe(false)
  vi.advanceTimersByTime(2_000)
  expect(reasonOf(sending)).toMatchObject({ limit: 'throughput' })
})

test('a client whose bytes nobody reads is not too slow', async () => {
  const sending = await beginBody({}, { reads: false })
  await sending.sendBytes(1_000)
  await until(() => sending.request.readableLength > 0)
  vi.advanceTimersByTime(60_000)
  expect(sending.watch.signal.aborted).toBe(false)
})

test('time in which the process did not run does not count', async () => {
  const sending = await beginBody()
  const { now } = performance
  const stopped = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 3_000_000)
  vi.advanceTimersByTime(5_000)
  expect(sending.watch.signal.aborted).toBe(false)
  stopped.mockRestore()
})

test('a watch that was stopped, or whose request has ended, never aborts', async () => {
  const [stopped, gone] = [await beginBody(), await beginBody()]
  stopped.watch.stop()
  gone.socket.destroy()
  await until(() => gone.request.destroyed)
  vi.advanceTimersByTime(60_000)
  expect(stopped.watch.signal.aborted).toBe(false)
  expect(gone.watch.signal.aborted).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
})
