import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
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

/** Returns a port on which a server listens until the end of the test. */
async function usedPort(): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

test('all ports in use are named at once, with their settings', async () => {
  const [one = 0, other = 0] = [await usedPort(), await usedPort()].toSorted((a, b) => a - b)
  const wanted = [
    { setting: 'API_PORT', host, port: one },
    { setting: 'SMTP_PORT', host, port: await freePort(host) },
    { setting: 'DASHBOARD_PORT', host, port: other },
  ]
  await expect(choosePorts(wanted.slice(0, 2))).rejects.toThrow(`API_PORT ${one} is in use. Stop the program that`)
  await expect(choosePorts(wanted)).rejects.toThrow(`API_PORT ${one} and DASHBOARD_PORT ${other} are in use. Stop`)
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
