export { createApp, InvalidAccount, registerToken, requireApp, UnknownApp } from './app.ts'
export { authenticator } from './token.ts'
