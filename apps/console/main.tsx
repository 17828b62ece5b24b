// The first file of the page.
import './global.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { finishSignIn } from './frame/oidc.js';

if (!(await finishSignIn())) createRoot(document.getElementById('root')!).render(<App />);
