import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../ports.ts'
import { choosePorts } from './choose-ports.ts'
import { portSetting, workerCount } from './settings.ts'

const host = '127.0.0.1'

// design.md §2, Ports.
test('0 picks a different free port for each setting, and a given port stays', async () => {
  const given = await freePort(host)
  const settings = ['A', 'B', 'C'].map((setting) => ({ setting, host, port: 0 }))
  const ports = await choosePorts([...settings, { setting: 'D', host, port: given }])
  expect(ports.get('D')).toBe(given)
  expect(new Set(ports.values()).size).toBe(4)
  expect([...ports.values()].every((port) => port > 0)).toBe(true)
})

test('a port in use is refused with the name of its setting', async () => {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await expect(choosePorts([{ setting: 'API_PORT', host, port }])).rejects.toThrow(`API_PORT ${port} is in use`)
})

test('one port for two settings is refused with the names of both', async () => {
  const port = await freePort(host)
  const wanted = ['API_PORT', 'SMTP_PORT'].map((setting) => ({ setting, host, port }))
  await expect(choosePorts(wanted)).rejects.toThrow(`API_PORT and SMTP_PORT are both ${port}`)
})

test.each(['x', '-1', '65536', '3.5', '1e3', ' '])('API_PORT=%j is refused', (text) => {
  expect(() => portSetting({ API_PORT: text }, 'API_PORT', 3000)).toThrow('API_PORT must be a whole number')
})

test('an empty variable counts as unset', () => {
  expect(portSetting({ API_PORT: '' }, 'API_PORT', 3000)).toBe(3000)
  expect(workerCount({ WORKERS: '' })).toBe(1)
})

test.each(['0', '101', 'many'])('WORKERS=%s is refused', (text) => {
  expect(() => workerCount({ WORKERS: text })).toThrow('WORKERS must be a whole number from 1 to 100')
})
