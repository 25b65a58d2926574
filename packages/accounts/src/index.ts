export { createApp, InvalidAccount, registerToken, requireApp, UnknownApp } from './app.ts'
export { authenticate } from './token.ts'
