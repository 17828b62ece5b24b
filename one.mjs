import fs from 'fs';
const {analyzeContent}=await import('./node_modules/.cache/try/dist/apps/chimech/analyze/analyze-content.js');
const md=fs.readFileSync('docs/api.md','utf8').slice(0,4000),ts=fs.readFileSync('libs/concurrency/batch.ts','utf8').slice(0,4000),csv='id,name,price\n'+Array.from({length:150},(_,i)=>`${i},"name, ${i}",${i/3}`).join('\n'),zh='人工智能正在改变我们的生活方式。机器学习算法能够从大量数据中发现规律，并用于预测未来的趋势。'.repeat(20);
const cases=[['text',md],['code',ts],['data',csv],['text',zh],['code',fs.readFileSync('node_modules/pg/lib/client.js','utf8').slice(0,6000)],['code',ts,'ts']];
for(const [type,content,language] of cases){const c0=process.cpuUsage();const N=30;for(let i=0;i<N;i++)await analyzeContent({type,content,language});const u=process.cpuUsage(c0);console.log(type,content.length,((u.user+u.system)/1e3/N).toFixed(1),'ms cpu')}
